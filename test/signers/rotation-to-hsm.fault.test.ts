import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { expect, it } from 'vitest'
import { iso, key, startReloadServer, type Json } from '../support/server/reloading.js'
import { readKeySet } from '../support/load/ledger/audit-books.js'
import { serviceClient } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { makeToken, openProvider } from '../support/signers/softhsm/token.js'

const minute = 60_000
const hour = 60 * minute
const start = Date.parse('2026-11-20T00:00:00Z')
/** Clients that ask all the while. */
const width = 4

describeWith('softhsm2', 'F26 a rotation from RS256 over ES256 to a key in an HSM, under load', () => {
  it('every token verifies at every moment with a key set that was kept for an hour; nothing is restarted', async () => {
    await using token = await makeToken()
    await using provider = await openProvider(token)
    await provider.create?.('in-hsm', 'ES256', AbortSignal.timeout(10_000))
    const hsm = {
      use: 'signers/pkcs11',
      options: { module: token.module, token: token.label, pin: token.pin, environment: token.environment },
    }
    let now = start
    const rsa = key('rsa', { alg: 'RS256' })
    await using server = await startReloadServer({
      clock: () => now,
      configure: (written) => ({
        ...written,
        access_token_signing_alg: 'RS256',
        id_token_signing_alg: 'RS256',
        keys: [rsa],
      }),
    })

    const keySet = () => readKeySet(server.issuer)
    /** Ten relying parties; each reads the key set when its hour is over. */
    const first = await keySet()
    const parties = Array.from({ length: 10 }, (_, n) => ({ readAt: now - n * 6 * minute, set: first }))
    const kids: string[] = []
    const statuses = new Set<number>()
    let live: { token: string; expires: number }[] = []

    /** A round of clients at one moment, and every relying party looks at every token that lives. */
    const moment = async (): Promise<void> => {
      for (const party of parties.filter(({ readAt }) => now - readAt >= hour)) {
        party.readAt = now
        party.set = await keySet()
      }
      const answers = await Promise.all(Array.from({ length: width }, () => server.token(serviceClient)))
      for (const answer of answers) {
        statuses.add(answer.status)
        const { access_token, expires_in } = (await answer.json()) as { access_token: string; expires_in: number }
        live.push({ token: access_token, expires: now + expires_in * 1000 })
        const { kid = '' } = decodeProtectedHeader(access_token)
        if (kids.at(-1) !== kid) kids.push(kid)
      }
      live = live.filter(({ expires }) => expires > now)
      for (const { set } of parties) {
        const keys = createLocalJWKSet(set)
        for (const each of live)
          await jwtVerify(each.token, keys, { issuer: server.issuer, currentDate: new Date(now) })
      }
    }
    const until = async (end: number): Promise<void> => {
      for (; now < end; now += 5 * minute) await moment()
    }
    const reload = async (change: (configuration: Json) => Json): Promise<void> => {
      await server.edit(change)
      const [reply] = await Promise.all([server.reload(), moment(), moment()])
      expect(reply).toMatchObject({ status: 200 })
    }

    await until(start + hour)
    const es = key('es', { not_before: iso(start + 3 * hour), not_after: iso(start + 7 * hour) })
    await reload((written) => ({ ...written, keys: [rsa, es] }))
    const algorithm = (alg: string) => (written: Json) => ({ ...written, access_token_signing_alg: alg })
    await server.edit(algorithm('ES256'))
    expect(await server.reload()).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'access_token_signing_alg', message: 'no key signs access_token with ES256 yet' }] },
    })
    await server.edit(algorithm('RS256'))
    await until(start + 3.5 * hour)
    await reload((written) => ({ ...written, access_token_signing_alg: 'ES256', id_token_signing_alg: 'ES256' }))
    await until(start + 4 * hour)
    const last = {
      kid: 'hsm',
      alg: 'ES256',
      signer: 'hsm',
      ref: 'pkcs11:object=in-hsm',
      not_before: iso(start + 6 * hour),
    }
    await reload((written) => ({
      ...written,
      signers: { ...(written['signers'] as Json), hsm },
      keys: [last, es, { ...rsa, not_after: iso(start + 4.5 * hour) }],
    }))
    await until(start + 9 * hour)

    expect(kids).toEqual(['rsa', 'es', 'hsm'])
    expect([...statuses]).toEqual([200])
    const { keys } = await keySet()
    expect(keys.map(({ kid }) => kid)).toEqual(['hsm'])
  }, 60_000)
})
