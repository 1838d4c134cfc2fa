import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { addAccount, openAccountStore, removeAccount } from '../../core/interaction/accounts.js'
import { createPasswordHasher } from '../../core/interaction/password-hasher.js'
import { publicClient, serviceClient, subject, webClient } from '../support/server/server.js'
import { api, basic, signedClient } from '../support/clients/clients.js'
import { expectRefusal, read, startTokenServer, type Answer, type TokenServer } from '../support/server/token-server.js'

let host: TokenServer
let token: string
beforeAll(async () => {
  host = await startTokenServer()
})
afterAll(() => host[Symbol.asyncDispose]())
afterEach(async () => {
  const answer = await ask({ headers: { authorization: `Bearer ${await fresh()}` } })
  expect(answer).toMatchObject({ status: 200, body: { sub: subject, name: 'Alice Adams' } })
  expect(answer.headers.get('cache-control')).toBe('no-store')
})

const ask = async (init: RequestInit = {}, query = ''): Promise<Answer> =>
  read(await fetch(`${host.server.issuer}/userinfo${query}`, init))

const issue = async (overrides: Parameters<TokenServer['mint']['code']>[0] = {}, client = webClient) => {
  const { code, grantId } = await host.mint.code(overrides)
  const answer = await host.redeem(code, {}, client)
  expect(answer.status).toBe(200)
  return { ...(answer.body as Record<'access_token' | 'id_token' | 'refresh_token', string>), grantId }
}

const fresh = async () => (await issue()).access_token

/** RFC 6750 §3: the code is in the header too, or no code at all where no token was sent. */
const expectChallenge = (answer: Answer, error: string | undefined): void => {
  const challenge = answer.headers.get('www-authenticate')
  if (error === undefined) expect(challenge).toMatch(/^Bearer, DPoP algs="[\w ]+"$/)
  else expect(challenge).toMatch(new RegExp(`^(Bearer|DPoP) error="${error}"`))
}

const expectInvalidToken = (answer: Answer): void => {
  expectRefusal(answer, 401, 'invalid_token')
  expectChallenge(answer, 'invalid_token')
}

describe('/userinfo', () => {
  beforeAll(async () => {
    token = await fresh()
  })

  it('UI01 a token in the query, alone or beside a good one', async () => {
    const authorization = `Bearer ${token}`
    for (const [query, init] of [
      [`?access_token=${token}`, {}],
      [`?access_token=${token}`, { headers: { authorization } }],
      [`?access_token=${token}`, { method: 'POST' }],
      [`?access_token=x`, { headers: { authorization } }],
      [`?a=1&access_token=${token}&access_token=${token}`, {}],
    ] as const) {
      const answer = await ask(init, query)
      expectRefusal(answer, 400, 'invalid_request')
      expectChallenge(answer, 'invalid_request')
      expect(answer.text).not.toContain(token)
    }
    expectRefusal(await ask({}, `?ACCESS_TOKEN=${token}`), 401, 'invalid_token')
  })

  it('UI02 a token in header and body, the same or another', async () => {
    for (const inBody of [token, 'x', await fresh()])
      for (const authorization of [`Bearer ${token}`, 'Bearer', 'Basic eDp5', 'DPoP x']) {
        const body = new URLSearchParams({ access_token: inBody })
        const answer = await ask({ method: 'POST', body, headers: { authorization } })
        expectRefusal(answer, 400, 'invalid_request')
        expectChallenge(answer, 'invalid_request')
      }
    const twice = `access_token=${token}&access_token=${token}`
    const type = 'application/x-www-form-urlencoded'
    const answer = await ask({ method: 'POST', body: twice, headers: { 'content-type': type } })
    expectRefusal(answer, 400, 'invalid_request')
    expectChallenge(answer, 'invalid_request')
    const posted = await ask({ method: 'POST', body: new URLSearchParams({ access_token: token }) })
    expect(posted.status).toBe(200)
  })

  it('UI02 no token, or a malformed header', async () => {
    for (const init of [{}, { method: 'POST' }, { method: 'POST', body: new URLSearchParams() }]) {
      const answer = await ask(init)
      expectRefusal(answer, 401, 'invalid_token')
      expectChallenge(answer, undefined)
    }
    for (const authorization of [
      ...['Bearer', 'Bearer ', 'Bearer a b', 'Bearer a,b', `Bearer "${token}"`, `Bearer ${token},${token}`],
      ...[`Bearer\t${token}`, `Bearers ${token}`, `DPoP ${token}`, `Basic ${token}`, token, `Token ${token}`],
      ...[`Bearer ${token} x`, `Bearer ${'='.repeat(9000)}`, `Bearer ${'a'.repeat(12_000)}`],
    ])
      expectInvalidToken(await ask({ headers: { authorization } }))
    for (const scheme of ['bearer', 'BEARER'])
      expect((await ask({ headers: { authorization: `${scheme} ${token}` } })).status).toBe(200)
  })

  it('UI03 a revoked token, by its grant and by itself', async () => {
    const { access_token: first, grantId } = await issue()
    await host.store.revocations('revocations').revoke(grantId, 600)
    expectInvalidToken(await host.userinfo(first))
    const second = await fresh()
    const { jti } = JSON.parse(Buffer.from(second.split('.')[1] ?? '', 'base64url').toString()) as { jti: string }
    await host.store.revocations('revocations').revoke(jti, 600)
    expectInvalidToken(await host.userinfo(second))
  })

  it('UI03 the account or the client is gone', async () => {
    const accounts = openAccountStore(host.store)
    await addAccount(accounts, createPasswordHasher(), { username: 'dan', password: 'battery staple', sub: 'dan-1' })
    const { access_token: ofDan } = await issue({ subject: 'dan-1' })
    expect((await host.userinfo(ofDan)).status).toBe(200)
    await removeAccount(accounts, 'dan', async () => {})
    expectInvalidToken(await host.userinfo(ofDan))
  })

  it('UI04 any other token of ours', async () => {
    const issued = await issue()
    const { code } = await host.mint.code()
    for (const other of [issued.id_token, issued.refresh_token ?? 'x', code])
      expectInvalidToken(await host.userinfo(other))
    const signed = await issue({ clientId: 'signed' }, signedClient)
    const userinfo = await host.userinfo(signed.access_token)
    expect(userinfo.headers.get('content-type')).toBe('application/jwt')
    expect(userinfo.headers.get('cache-control')).toBe('no-store')
    expectInvalidToken(await host.userinfo(userinfo.text))
    const elsewhere = await issue({ resource: [api] })
    expectInvalidToken(await host.userinfo(elsewhere.access_token))
    expect((await host.userinfo((await issue({ resource: [api, host.server.issuer] })).access_token)).status).toBe(200)
  })

  it('UI05 no openid scope', async () => {
    const without = await issue({ scope: ['profile', 'email', 'read'] })
    const service = await host.token({ grant_type: 'client_credentials' }, { authorization: basic(serviceClient) })
    for (const accessToken of [without.access_token, String(service.body['access_token'])]) {
      const answer = await host.userinfo(accessToken)
      expectRefusal(answer, 403, 'insufficient_scope')
      expectChallenge(answer, 'insufficient_scope')
      expect(answer.text).not.toContain('Alice')
    }
  })

  it('UI05 a narrowed token releases no more than its scope', async () => {
    const { token: refreshToken } = await host.mint.refreshToken()
    const narrow = await host.refresh(refreshToken, { scope: 'openid email' }, publicClient)
    const answer = await host.userinfo(String(narrow.body['access_token']))
    expect(answer.body).toEqual({ sub: subject, email: 'alice@bank.example', email_verified: true })
  })

  it('UI03 an expired token, and the tolerance of ten seconds', async () => {
    const expiring = await fresh()
    const { exp } = JSON.parse(Buffer.from(expiring.split('.')[1] ?? '', 'base64url').toString()) as { exp: number }
    host.stopAt((exp + 10) * 1000 - 1)
    expect((await host.userinfo(expiring)).status).toBe(200)
    host.stopAt((exp + 10) * 1000)
    expectInvalidToken(await host.userinfo(expiring))
    host.later(0)
  })

  it('every refusal is in the audit log with its reason', async () => {
    const refused = (await host.server.audit()).filter(({ event }) => event === 'userinfo.refused')
    const reasons = new Set(refused.map(({ reason }) => reason))
    for (const reason of [
      'malformed Authorization header',
      'not a valid access token',
      'token for another audience',
      'revoked',
      'the account is gone or disabled',
    ])
      expect(reasons).toContain(reason)
    // Lines with a count stand for several requests; how many there are by now depends on how long the tests above took.
    const single = refused.filter(({ count }) => count === undefined)
    expect(single.every((line) => typeof line['request_id'] === 'string')).toBe(true)
  })
})
