import { describe, expect, it } from 'vitest'
import { addAccount, openAccountStore, removeAccount } from '../../core/interaction/accounts.js'
import { createPasswordHasher } from '../../core/interaction/password-hasher.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { publicClient, startServer, webClient } from '../support/server/server.js'
import { api, basic, otherClient, otherPublicClient } from '../support/clients/clients.js'
import { createMint } from '../support/forge/mint.js'
import { expectRefusal, type Answer } from '../support/server/token-server.js'
import { host, setUpTokens } from '../support/server/token-set-up.js'

setUpTokens()

const mintInto = async (path: string): Promise<string> => {
  await using store = await openEmbedded({ path, clock: Date.now })
  const { token } = await createMint(store).refreshToken()
  return token
}

const tokenOf = (answer: Answer): string => {
  expect(answer.status).toBe(200)
  return String(answer.body['refresh_token'])
}

const reuses = async (grantId: string) =>
  (await host.server.audit()).filter((line) => line['event'] === 'refresh.reused' && line['grant_id'] === grantId)

describe('refresh tokens at /token', () => {
  it('RT01 a rotated token after the grace gives nothing and ends the family', async () => {
    const { token, grantId } = await host.mint.refreshToken()
    const first = await host.refresh(token)
    const successor = tokenOf(first)
    host.later(10_001)
    expectRefusal(await host.refresh(token), 400, 'invalid_grant')
    expectRefusal(await host.refresh(successor), 400, 'invalid_grant')
    expectRefusal(await host.userinfo(String(first.body['access_token'])), 401, 'invalid_token')
    expect(await reuses(grantId)).toHaveLength(1)
  })

  it('RT01 within the grace too, once its successor was used', async () => {
    const { token, grantId } = await host.mint.refreshToken()
    const third = tokenOf(await host.refresh(tokenOf(await host.refresh(token))))
    expectRefusal(await host.refresh(token), 400, 'invalid_grant')
    expectRefusal(await host.refresh(third), 400, 'invalid_grant')
    expect(await reuses(grantId)).toHaveLength(1)
  })

  it('RT01 the grace is no longer for a clock that is set back', async () => {
    const { token, grantId } = await host.mint.refreshToken()
    const successor = tokenOf(await host.refresh(token))
    host.later(-10_000)
    expect(tokenOf(await host.refresh(token))).toBe(successor)
    host.later(-3_600_000)
    const refused = await host.refresh(token)
    host.later(3_610_000)
    expectRefusal(refused, 400, 'invalid_grant')
    expect(await reuses(grantId)).toHaveLength(1)
  })

  it('RT11 an honest retry, its answer having been lost, gets the same successor', async () => {
    const { token, grantId } = await host.mint.refreshToken()
    const successor = tokenOf(await host.refresh(token))
    for (const milliseconds of [0, 2000, 7000]) {
      host.later(milliseconds)
      expect(tokenOf(await host.refresh(token))).toBe(successor)
    }
    expect(tokenOf(await host.refresh(successor))).not.toBe(successor)
    expect(await reuses(grantId)).toEqual([])
  })

  it('a confidential client keeps its token', async () => {
    const { token } = await host.mint.refreshToken({ clientId: 'web' })
    for (const milliseconds of [0, 60_000]) {
      host.later(milliseconds)
      const answer = await host.refresh(token, {}, webClient)
      expect(answer.status).toBe(200)
      expect(answer.body).not.toHaveProperty('refresh_token')
    }
  })

  it('RT03 another client gets nothing, and cannot end the family', async () => {
    const ofApp = await host.mint.refreshToken()
    const successor = tokenOf(await host.refresh(ofApp.token))
    const ofWeb = await host.mint.refreshToken({ clientId: 'web' })
    host.later(11_000)
    for (const stranger of [webClient, otherClient, otherPublicClient])
      for (const token of [ofApp.token, successor])
        expectRefusal(await host.refresh(token, {}, stranger), 400, 'invalid_grant')
    for (const stranger of [otherClient, publicClient])
      expectRefusal(await host.refresh(ofWeb.token, {}, stranger), 400, 'invalid_grant')
    expect((await host.refresh(successor)).status).toBe(200)
    expect((await host.refresh(ofWeb.token, {}, webClient)).status).toBe(200)
  })

  it.each(['openid admin', 'write', 'openid email write', 'openid  email', ' openid', 'openid "', 'ореnid', '*'])(
    'RT04 the scope %s, wider than the grant or malformed',
    async (scope) => {
      const { token } = await host.mint.refreshToken()
      expectRefusal(await host.refresh(token, { scope }), 400, 'invalid_scope')
      expect((await host.refresh(token)).status).toBe(200)
    },
  )

  it('RT04 narrowed once, it widens again to what was granted and no further', async () => {
    const { token } = await host.mint.refreshToken({ scope: ['openid', 'email', 'offline_access'] })
    const narrow = await host.refresh(token, { scope: 'openid' })
    expect(narrow.body['scope']).toBe('openid')
    const wide = await host.refresh(tokenOf(narrow))
    expect(wide.body['scope']).toBe('openid email offline_access')
    expectRefusal(await host.refresh(tokenOf(wide), { scope: 'openid profile' }), 400, 'invalid_scope')
  })

  it('RT05 the account is disabled or removed, or the grant was revoked', async () => {
    const accounts = openAccountStore(host.store)
    await addAccount(accounts, createPasswordHasher(), { username: 'eve', password: 'battery staple', sub: 'eve-1' })
    const { token } = await host.mint.refreshToken({ subject: 'eve-1' })
    const second = tokenOf(await host.refresh(token))
    const record = await accounts.accounts.find('eve')
    await accounts.accounts.put('eve', { ...record!, disabled: true })
    expectRefusal(await host.refresh(second), 400, 'invalid_grant')
    await accounts.accounts.put('eve', record!)
    const third = tokenOf(await host.refresh(second))
    await removeAccount(accounts, 'eve', async () => {})
    expectRefusal(await host.refresh(third), 400, 'invalid_grant')

    const revoked = await host.mint.refreshToken()
    const successor = tokenOf(await host.refresh(revoked.token))
    await host.store.revocations('revocations').revoke(revoked.grantId, 600)
    for (const dead of [revoked.token, successor]) expectRefusal(await host.refresh(dead), 400, 'invalid_grant')
  })

  it('RT07 a use is remembered over a restart', async () => {
    let ahead = 0
    const start = (path?: string) =>
      startServer({
        clock: () => Date.now() + ahead,
        configure: (written) => {
          if (path === undefined) return written
          const backend = { use: 'embedded', options: { path } }
          const local = { use: 'signers/local', options: { directory: `${path}-keys`, create: true } }
          return { ...written, signers: { local }, storage: { records: backend, ephemeral: backend } }
        },
      })
    const post = async (issuer: string, refresh_token: string) => {
      const body = new URLSearchParams({ grant_type: 'refresh_token', client_id: 'app', refresh_token })
      const response = await fetch(`${issuer}/token`, { method: 'POST', body })
      return (await response.json()) as { error?: string; refresh_token?: string }
    }
    const path = `${host.server.directory}/second-store`
    const token = await mintInto(path)
    let used
    {
      await using before = await start(path)
      used = (await post(before.issuer, token)).refresh_token
    }
    expect(used).toBeTypeOf('string')
    ahead += 11_000
    await using after = await start(path)
    expect((await post(after.issuer, token)).error).toBe('invalid_grant')
    expect((await post(after.issuer, used ?? '')).error).toBe('invalid_grant')
  })

  it('RT08 a child minted while the family is being revoked is dead at its next use', async () => {
    for (let round = 0; round < 20; round++) {
      const { token, grantId } = await host.mint.refreshToken()
      const [answer] = await Promise.all([
        host.refresh(token),
        host.store.revocations('revocations').revoke(grantId, 600),
      ])
      if (answer.status === 200) {
        expectRefusal(await host.refresh(tokenOf(answer)), 400, 'invalid_grant')
        expectRefusal(await host.userinfo(String(answer.body['access_token'])), 401, 'invalid_token')
      } else expectRefusal(answer, 400, 'invalid_grant')
    }
  })

  it.each([
    ['not granted', 'https://ledger.example'],
    ['not allowed to the client', 'https://evil.example'],
    ['with a slash', `${api}/`],
    ['with a fragment', `${api}#a`],
    ['relative', '/api'],
    ['not a URI', 'api'],
    ['of a script', 'javascript:alert(1)'],
  ])('RT09 a resource %s', async (_, resource) => {
    const { token } = await host.mint.refreshToken({ clientId: 'web', resource: [api] })
    expectRefusal(await host.refresh(token, { resource }, webClient), 400, 'invalid_target')
    const { code } = await host.mint.code({ resource: [api] })
    expectRefusal(await host.redeem(code, { resource }), 400, 'invalid_target')
    expect((await host.refresh(token, { resource: api }, webClient)).status).toBe(200)
    expect((await host.redeem(code, { resource: api })).status).toBe(200)
  })

  it('RT09 one that was granted, beside one that was not', async () => {
    const { token } = await host.mint.refreshToken({ clientId: 'web', resource: [api] })
    const form = [
      ['grant_type', 'refresh_token'],
      ['refresh_token', token],
      ['resource', api],
    ] as const
    const authorization = basic(webClient)
    const two = await host.token([...form, ['resource', 'https://ledger.example']], { authorization })
    expectRefusal(two, 400, 'invalid_target')
    expect((await host.token([...form, ['resource', api]], { authorization })).status).toBe(200)
  })

  it('RT10 the absolute lifetime ends a family that was never idle', async () => {
    const hour = 3600
    const { token } = await host.mint.refreshToken({}, { ttlSeconds: hour, absoluteSeconds: 2.5 * hour })
    let current = token
    for (let rotation = 0; rotation < 3; rotation++) {
      if (rotation > 0) host.later(hour * 1000)
      current = tokenOf(await host.refresh(current))
    }
    host.later(hour * 1000)
    expectRefusal(await host.refresh(current), 400, 'invalid_grant')
  })

  it('RT10 the idle lifetime ends an unused family', async () => {
    const day = 86_400_000
    const { token } = await host.mint.refreshToken()
    const second = tokenOf(await host.refresh(token))
    host.later(14 * day - 1000)
    const third = tokenOf(await host.refresh(second))
    host.later(14 * day)
    expectRefusal(await host.refresh(third), 400, 'invalid_grant')
  })

  it('CC10 a token truncated, extended, re-cased, padded', async () => {
    const { token } = await host.mint.refreshToken()
    for (const spelling of [
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      ` ${token}`,
      `${token}\n`,
      token.slice(22),
      '*',
    ])
      expectRefusal(await host.refresh(spelling), 400, 'invalid_grant')
    for (const missing of ['', undefined])
      expectRefusal(await host.token({ grant_type: 'refresh_token', client_id: 'app', refresh_token: missing }), 400, [
        'invalid_request',
      ])
    expect((await host.refresh(token)).status).toBe(200)
  })
})
