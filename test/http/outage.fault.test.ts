import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { noLog } from '../../core/observe/log.js'
import { failingAudit, failingStore, type Fault, type Faults, inBothRoles } from '../support/stores/failing-store.js'
import { signedClient } from '../support/clients/clients.js'
import { expectRefusal, startTokenServer, type Answer, type TokenServer } from '../support/server/token-server.js'
import { publicClient, webClient } from '../support/server/server.js'

let host: TokenServer

const expectOutage = (answer: Answer): void => {
  expectRefusal(answer, 503, 'temporarily_unavailable')
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d?$/)
  expect(answer.headers.get('www-authenticate')).toBeNull()
}

const tokenOf = (answer: Answer, name: string): string => {
  expect(answer.status).toBe(200)
  return String(answer.body[name])
}

describe('a signer that fails', () => {
  let directory: string
  const say = (word: string) => writeFile(join(directory, 'control'), word)

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'signet-signer-'))
    await say('sign')
    const use = fileURLToPath(new URL('../support/signers/failing-signer.ts', import.meta.url))
    host = await startTokenServer({
      log: noLog,
      configure: (written) => ({
        ...written,
        signers: { double: { use, options: { control: join(directory, 'control') } } },
        keys: [{ kid: 'double', alg: 'ES256', signer: 'double', ref: 'x' }],
      }),
    })
  })
  afterEach(() => host.expectGood())
  afterAll(async () => {
    await host[Symbol.asyncDispose]()
    await rm(directory, { recursive: true })
  })

  it.each(['unavailable', 'throw', 'refuse', 'hang'])(
    'SF03 %s: 503, and neither the code nor the refresh token is consumed',
    async (word) => {
      const { code, grantId } = await host.mint.code()
      const { token } = await host.mint.refreshToken()
      const signed = await host.mint.code({ clientId: 'signed' })
      const access = tokenOf(await host.redeem(signed.code, {}, signedClient), 'access_token')

      await say(word)
      const answers = [host.redeem(code), host.redeem(code), host.refresh(token), host.refresh(token)]
      for (const answer of await Promise.all(answers)) expectOutage(answer)
      expectOutage(await host.userinfo(access))
      for (const path of ['/jwks.json', '/.well-known/openid-configuration'])
        expect((await fetch(host.server.issuer + path)).status).toBe(200)
      await say('sign')

      // The signer is proved before it is believed again.
      await expect.poll(async () => (await host.redeem(code)).status, { timeout: 40_000 }).toBe(200)
      const successor = tokenOf(await host.refresh(token), 'refresh_token')
      expect((await host.refresh(successor)).status).toBe(200)
      expect((await host.userinfo(access)).status).toBe(200)
      const issued = (await host.server.audit()).filter((line) => line['grant_id'] === grantId)
      expect(issued.map(({ event }) => event)).toEqual(['token.issued'])
    },
  )
})

describe('a store that fails', () => {
  const faults: Faults = new Map()
  beforeAll(async () => {
    host = await startTokenServer({ doubles: { stores: inBothRoles(failingStore(faults)) } })
  })
  beforeEach(() => faults.clear())
  afterEach(async () => {
    faults.clear()
    await host.expectGood()
  })
  afterAll(() => host[Symbol.asyncDispose]())

  const during = async <T>(verb: string, fault: Fault, work: () => Promise<T>): Promise<T> => {
    faults.set(verb, fault)
    try {
      return await work()
    } finally {
      faults.clear()
    }
  }

  it.each(['*', 'codes.findUnused', 'codes.redeem', 'refresh_families.start', 'revocations.isRevoked'])(
    'SF01 %s does not happen: 503, and the code works afterwards',
    async (verb) => {
      const { code } = await host.mint.code()
      const answers = await during(verb, 'before', () => Promise.all([host.redeem(code), host.redeem(code)]))
      for (const answer of answers) expectOutage(answer)
      const access = tokenOf(await host.redeem(code), 'access_token')
      expect((await host.userinfo(access)).status).toBe(200)
    },
  )

  it.each(['*', 'refresh_families.find', 'refresh_families.rotate', 'revocations.isRevoked'])(
    'SF01 %s does not happen: 503, and the refresh token works afterwards',
    async (verb) => {
      const { token } = await host.mint.refreshToken()
      const answers = await during(verb, 'before', () => Promise.all([host.refresh(token), host.refresh(token)]))
      for (const answer of answers) expectOutage(answer)
      host.later(60_000)
      const successor = tokenOf(await host.refresh(token), 'refresh_token')
      expect((await host.refresh(successor)).status).toBe(200)
    },
  )

  it('SF01 a failed lookup of a client or an account is not treated as unknown', async () => {
    const stored = { client_id: 'in-the-store', client_secret: 'x' }
    const { code } = await host.mint.code({ subject: 'in-the-store' })
    expectOutage(await during('clients.find', 'before', () => host.redeem(code, {}, stored)))
    expectOutage(await during('account_subjects.find', 'before', () => host.redeem(code)))
    expectRefusal(await host.redeem(code, {}, stored), 401, 'invalid_client')
  })

  it.each(['*', 'revocations.isRevoked'])('SF01 /userinfo without %s: 503, not invalid_token', async (verb) => {
    const { code } = await host.mint.code()
    const access = tokenOf(await host.redeem(code), 'access_token')
    expectOutage(await during(verb, 'before', () => host.userinfo(access)))
    expect((await host.userinfo(access)).status).toBe(200)
  })

  it('SF05 the answer to a redemption is lost: 503, and the code is used', async () => {
    const { code, grantId } = await host.mint.code()
    expectOutage(await during('codes.redeem', 'after', () => host.redeem(code)))
    expectRefusal(await host.redeem(code), 400, 'invalid_grant')
    const issued = (await host.server.audit()).filter((line) => line['grant_id'] === grantId)
    expect(issued.map(({ event }) => event)).not.toContain('token.issued')
  })

  it('SF05 the answer to a rotation is lost: 503, and the retry gets the successor', async () => {
    const { token } = await host.mint.refreshToken()
    expectOutage(await during('refresh_families.rotate', 'after', () => host.refresh(token)))
    const successor = tokenOf(await host.refresh(token), 'refresh_token')
    expect(tokenOf(await host.refresh(token), 'refresh_token')).toBe(successor)
    expect((await host.refresh(successor)).status).toBe(200)
  })

  it('SF05 the answer to a start of a family is lost: 503, and the code works afterwards', async () => {
    const { code } = await host.mint.code()
    expectOutage(await during('refresh_families.start', 'after', () => host.redeem(code)))
    expect((await host.redeem(code)).status).toBe(200)
  })

  it.each([
    ['refresh_families.remove', 'before'],
    ['revocations.revoke', 'before'],
    ['revocations.revoke', 'after'],
  ] as const)('a reuse whose %s fails (%s) is a reuse at the next request', async (verb, fault) => {
    const { code } = await host.mint.code()
    const first = await host.redeem(code)
    expectOutage(await during(verb, fault, () => host.redeem(code)))
    expectRefusal(await host.redeem(code), 400, 'invalid_grant')
    expectRefusal(await host.userinfo(tokenOf(first, 'access_token')), 401, 'invalid_token')
    expectRefusal(await host.refresh(tokenOf(first, 'refresh_token'), {}, webClient), 400, 'invalid_grant')

    const { token } = await host.mint.refreshToken()
    const successor = tokenOf(await host.refresh(token), 'refresh_token')
    host.later(11_000)
    const answer = await during(verb, fault, () => host.refresh(token))
    expectOutage(answer)
    expectRefusal(await host.refresh(token), 400, 'invalid_grant')
    expectRefusal(await host.refresh(successor), 400, 'invalid_grant')
  })
})

describe('an audit log that cannot be written', () => {
  const lost = new Set<string>()
  beforeAll(async () => {
    host = await startTokenServer({ doubles: { audit: failingAudit(lost) } })
  })
  afterEach(async () => {
    lost.clear()
    await host.expectGood()
  })
  afterAll(() => host[Symbol.asyncDispose]())

  it('F34 a signature that cannot be recorded is not released, and consumes nothing', async () => {
    const { code } = await host.mint.code()
    const { token } = await host.mint.refreshToken()
    lost.add('token.signed')
    expectOutage(await host.redeem(code))
    expectOutage(await host.refresh(token))
    lost.clear()
    expect((await host.redeem(code)).status).toBe(200)
    expect((await host.refresh(token)).status).toBe(200)
  })

  it('F34 tokens that cannot be recorded are not released', async () => {
    const { code } = await host.mint.code()
    const { token } = await host.mint.refreshToken()
    lost.add('token.issued')
    expectOutage(await host.redeem(code))
    expectOutage(await host.refresh(token))
    lost.clear()
    expectRefusal(await host.redeem(code), 400, 'invalid_grant')
    expect((await host.refresh(token)).status).toBe(200)
  })

  it('F34 a refusal of an authenticated client that cannot be recorded is an outage', async () => {
    lost.add('token.refused')
    expectOutage(await host.redeem('x'.repeat(43)))
  })

  it('AN16 a refusal of an unauthenticated caller that cannot be recorded stays a refusal', async () => {
    lost.add('token.refused').add('client.refused').add('userinfo.refused')
    const wrong = { ...webClient, client_secret: 'wrong' }
    expectRefusal(await host.redeem('x'.repeat(43), {}, wrong), 401, 'invalid_client')
    expectRefusal(await host.redeem('x'.repeat(43), {}, publicClient), 400, 'invalid_grant')
    expectRefusal(await host.userinfo('x'), 401, 'invalid_token')
  })
})
