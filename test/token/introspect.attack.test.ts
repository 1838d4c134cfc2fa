import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { addAccount, openAccountStore, removeAccount } from '../../core/interaction/accounts.js'
import { createPasswordHasher } from '../../core/interaction/password-hasher.js'
import { publicClient, serviceClient, subject, webClient } from '../support/server/server.js'
import {
  api,
  basic,
  basicClient,
  clients,
  disabledClient,
  otherClient,
  signedClient,
} from '../support/clients/clients.js'
import type { Credentials } from '../support/clients/clients.js'
import { decode, forge, part } from '../support/forge/forge.js'
import { expectRefusal, postForm, read, startTokenServer, type Answer } from '../support/server/token-server.js'
import type { Form, TokenServer } from '../support/server/token-server.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

/** A resource server: its own tokens are those for `api`. */
const apiServer = { ...serviceClient, client_id: 'api', introspection_audiences: [api] }
const otherApi = 'https://ledger.example'
/** May ask for the same tokens, and is no resource server. */
const apiUser = { ...serviceClient, client_id: 'api-user', allowed_audiences: [api, 'https://ledger.example'] }
/** One whose client_id is its identifier. */
const ledgerServer = { ...serviceClient, client_id: otherApi }

const configure = (written: Record<string, unknown>) => ({
  ...written,
  clients: [...clients, apiServer, apiUser, ledgerServer],
})

type Headers = Readonly<Record<string, string>>

const ask = (on: TokenServer, form: Form, headers: Headers): Promise<Answer> =>
  postForm(`${on.server.issuer}/introspect`, form, headers)

let host: TokenServer
beforeAll(async () => {
  host = await startTokenServer({ configure })
})
afterAll(() => host[Symbol.asyncDispose]())
afterEach(async () => {
  const { access_token } = await issue()
  const answer = await introspect(access_token, webClient)
  expect(answer).toMatchObject({ status: 200, body: { active: true, sub: subject } })
  expect(answer.headers.get('cache-control')).toBe('no-store')
})

const introspect = (token: string, client: Credentials, further: Readonly<Record<string, string>> = {}) =>
  ask(host, { token, ...further }, { authorization: basic(client) })

const issue = async (overrides: Parameters<TokenServer['mint']['code']>[0] = {}, client: Credentials = webClient) => {
  const { code, grantId } = await host.mint.code({ clientId: client.client_id, ...overrides })
  const answer = await host.redeem(code, {}, client)
  expect(answer.status).toBe(200)
  return { ...(answer.body as Record<'access_token' | 'id_token' | 'refresh_token', string>), grantId, code }
}

/** To the letter: nothing else is disclosed. */
const expectInactive = (answer: Answer): void => {
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: '{"active":false}' })
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(answer.headers.get('cache-control')).toBe('no-store')
}

it('no key may sign answers: JSON only, and discovery says so', async () => {
  await using locked = await startTokenServer({
    configure: (written) => {
      const [key] = written['keys'] as object[]
      return { ...written, keys: [{ ...key, purposes: ['access_token', 'id_token', 'userinfo'] }] }
    },
  })
  const { code } = await locked.mint.code()
  const token = String((await locked.redeem(code)).body['access_token'])
  const headers = { authorization: basic(webClient) }
  const answer = await ask(locked, { token }, { ...headers, accept: 'application/token-introspection+jwt' })
  expectRefusal(answer, 406, 'invalid_request')
  expect((await ask(locked, { token }, headers)).body['active']).toBe(true)
  const discovery = await fetch(`${locked.server.issuer}/.well-known/openid-configuration`)
  expect(await discovery.json()).toMatchObject({ introspection_signing_alg_values_supported: [] })
})

describe('/introspect', () => {
  it('IN01 no client authentication, or one that fails', async () => {
    const { access_token: token } = await issue({}, publicClient)
    const wrong = { ...webClient, client_secret: 'wrong' }
    const cases: readonly (readonly [Readonly<Record<string, string>>, Headers])[] = [
      [{ token }, {}],
      [{ token, client_id: 'web' }, {}],
      [{ token, client_id: publicClient.client_id }, {}],
      [{ token, client_id: 'nobody' }, {}],
      [{ token, client_id: 'basic', client_secret: basicClient.client_secret }, {}],
      [{ token }, { authorization: basic(wrong) }],
      [{ token }, { authorization: basic(disabledClient) }],
      [{ token }, { authorization: `Bearer ${token}` }],
      [{ token, client_id: 'app' }, { authorization: basic(webClient) }],
    ]
    for (const [form, headers] of cases) {
      const answer = await ask(host, form, headers)
      expectRefusal(answer, 401, 'invalid_client')
      expect(answer.headers.has('www-authenticate')).toBe('authorization' in headers)
      expect(answer.text).not.toContain(subject)
    }
    const [line] = (await host.server.audit()).filter(({ reason }) => reason === 'a public client')
    expect(line).toMatchObject({ event: 'client.refused', error: 'invalid_client' })
  })

  it('a request that is malformed', async () => {
    const { access_token: token } = await issue()
    const authorization = basic(webClient)
    for (const form of ['', 'token=', 'Token=x', `token=${token}&token=${token}`, 'token=%zz', `token[]=${token}`])
      expectRefusal(await ask(host, form, { authorization }), 400, 'invalid_request')
    const inQuery = await fetch(`${host.server.issuer}/introspect?token=${token}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
    })
    expectRefusal(await read(inQuery), 400, 'invalid_request')
    expectRefusal(await read(await fetch(`${host.server.issuer}/introspect`)), 405, 'invalid_request')
    const json = { authorization, 'content-type': 'application/json' }
    expectRefusal(await ask(host, JSON.stringify({ token }), json), 415, 'invalid_request')
  })

  it('IN02 a token for another resource server', async () => {
    const { access_token: ours } = await issue({ resource: [api] })
    const { access_token: default_ } = await issue()
    const { access_token: both } = await issue({ resource: [api, otherApi] })
    for (const [token, client] of [
      [ours, otherClient],
      [ours, ledgerServer],
      [ours, serviceClient],
      [default_, apiServer],
      [default_, ledgerServer],
      [both, otherClient],
    ] as const)
      expectInactive(await introspect(token, client))
    for (const [token, client] of [
      [ours, apiServer],
      [ours, webClient],
      [both, apiServer],
      [both, ledgerServer],
    ] as const)
      expect((await introspect(token, client)).body).toMatchObject({ active: true, client_id: 'web', sub: subject })
  })

  it('TK15 who may ask for tokens for a resource server learns nothing of those of others', async () => {
    const { access_token: token } = await issue({ resource: [api] })
    expectInactive(await introspect(token, apiUser))
    expect((await introspect(token, apiServer)).body).toMatchObject({ active: true, client_id: 'web' })
    const own = await host.token({ grant_type: 'client_credentials', resource: api }, { authorization: basic(apiUser) })
    expect((await introspect(String(own.body['access_token']), apiUser)).body).toMatchObject({ client_id: 'api-user' })
  })

  it('IN03 garbage, another type, a wrong hint', async () => {
    const scope = ['openid', 'email', 'offline_access']
    const { access_token, id_token, refresh_token, code } = await issue({ scope })
    const signed = await issue({}, signedClient)
    const userinfo = await host.userinfo(signed.access_token)
    expect(userinfo.headers.get('content-type')).toBe('application/jwt')
    const answer = await ask(
      host,
      { token: access_token },
      { authorization: basic(webClient), accept: 'application/token-introspection+jwt' },
    )
    const changed = `${access_token.slice(0, -2)}${access_token.at(-2) === 'A' ? 'B' : 'A'}${access_token.at(-1)}`
    const key = await host.key()
    const [header, claims] = [decode(access_token, 0), decode(access_token, 1)]
    const other = (typ: unknown) => forge(key, { ...header, typ }, claims)
    for (const typ of ['at+jwt', ...spellingsOf('at+jwt')])
      expect((await introspect(other(typ), webClient)).body['active']).toBe(true)
    for (const token of [
      ...['x', '.', '..', 'a.b.c', ' ', '{}', '💥', 'a'.repeat(65), 'a'.repeat(60_000)],
      ...[id_token, code, userinfo.text, answer.text, changed, `${access_token} `, `${access_token}.`],
      ...[part(access_token, 0), `${part(access_token, 0)}.${part(access_token, 1)}.`],
      ...[other('JWT'), other('at+jwt;x=1'), other('text/at+jwt'), other('device-attestation+jwt'), other(null)],
      ...[other('token-introspection+jwt'), other('logout+jwt'), forge(key, { ...header, alg: 'none' }, claims)],
      ...[forge(key, header, { ...claims, iss: 'https://evil.example' }), forge(key, header, { ...claims, jti: 1 })],
      ...[forge(key, header, { ...claims, sub: undefined }), forge(key, { ...header, kid: 'x' }, claims)],
      ...[`${refresh_token}x`, refresh_token.slice(0, -1), refresh_token.slice(0, 22) + 'A'.repeat(43)],
    ])
      for (const hint of [undefined, 'access_token', 'refresh_token', 'no such type'])
        expectInactive(await introspect(token, webClient, hint === undefined ? {} : { token_type_hint: hint }))
    for (const hint of ['access_token', 'refresh_token', 'id_token', ' ', '💥'])
      for (const token of [access_token, refresh_token])
        expect((await introspect(token, webClient, { token_type_hint: hint })).body['active']).toBe(true)
  })

  it('IN03 expired, without the tolerance, before and after it was remembered', async () => {
    const [first, second] = [await issue(), await issue()]
    expect((await introspect(first.access_token, webClient)).body['active']).toBe(true)
    host.later(601_000)
    for (const { access_token } of [first, second]) expectInactive(await introspect(access_token, webClient))
    host.later(30_000)
    for (const { access_token } of [first, second]) expectInactive(await introspect(access_token, webClient))
  })

  it('IN03 revoked, before and after it was remembered', async () => {
    const revocations = host.store.revocations('revocations')
    for (const remembered of [true, false]) {
      const byGrant = await issue()
      const byJti = await issue()
      if (remembered)
        for (const { access_token } of [byGrant, byJti])
          expect((await introspect(access_token, webClient)).body['active']).toBe(true)
      await revocations.revoke(byGrant.grantId, 600)
      await revocations.revoke(String(decode(byJti.access_token, 1)['jti']), 600)
      for (const token of [byGrant.access_token, byGrant.refresh_token, byJti.access_token])
        expectInactive(await introspect(token, webClient))
      expect((await introspect(byJti.refresh_token, webClient)).body['active']).toBe(true)
    }
  })

  it('the person no longer exists', async () => {
    const accounts = openAccountStore(host.store)
    await addAccount(accounts, createPasswordHasher(), { username: 'dan', password: 'battery staple', sub: 'dan-1' })
    const ofDan = await issue({ subject: 'dan-1' })
    for (const token of [ofDan.access_token, ofDan.refresh_token])
      expect((await introspect(token, webClient)).body).toMatchObject({ active: true, sub: 'dan-1' })
    await removeAccount(accounts, 'dan', async () => {})
    for (const token of [ofDan.access_token, ofDan.refresh_token]) expectInactive(await introspect(token, webClient))
  })

  it('a refresh token is active only for its own client, and only the current one', async () => {
    const { refresh_token } = await issue({ resource: [api], scope: ['openid', 'offline_access', 'read'] })
    for (const client of [otherClient, apiServer, serviceClient])
      expectInactive(await introspect(refresh_token, client))
    expect((await introspect(refresh_token, webClient)).body).toEqual({
      active: true,
      iss: host.server.issuer,
      sub: subject,
      client_id: 'web',
      aud: api,
      scope: 'openid offline_access read',
      auth_time: expect.any(Number),
    })
  })

  it('returns the claims of the token and nothing internal', async () => {
    const requestedClaims = { userinfo: { email: null } }
    const { access_token } = await issue({ resource: [api], scope: ['openid', 'read'], requestedClaims })
    const { userinfo_claims, ...claims } = decode(access_token, 1)
    expect(userinfo_claims).toEqual(['email'])
    const { body } = await introspect(access_token, apiServer)
    expect(body).toEqual({ ...claims, active: true, token_type: 'Bearer' })
    expect(Object.keys(body)).toEqual(
      expect.arrayContaining(['iss', 'sub', 'aud', 'client_id', 'scope', 'iat', 'exp', 'jti', 'auth_time']),
    )
    const bound = forge(await host.key(), decode(access_token, 0), { ...claims, cnf: { jkt: 'x'.repeat(43) } })
    expect((await introspect(bound, apiServer)).body).toMatchObject({
      token_type: 'DPoP',
      cnf: { jkt: 'x'.repeat(43) },
    })
    const byCertificate = forge(await host.key(), decode(access_token, 0), { ...claims, cnf: { 'x5t#S256': 'x' } })
    expect((await introspect(byCertificate, apiServer)).body).toMatchObject({ token_type: 'Bearer' })
  })

  it('a signed answer is no token, is for the caller alone, and its signature is in the audit log', async () => {
    const { access_token, id_token } = await issue({ resource: [api] })
    const signedFor = (token: string, accept: string) =>
      ask(host, { token }, { authorization: basic(apiServer), accept })
    for (const accept of [
      'application/token-introspection+jwt',
      'APPLICATION/Token-Introspection+JWT;q=0.9, application/json;q=0.1',
      'application/json, application/token-introspection+jwt',
    ]) {
      const answer = await signedFor(access_token, accept)
      expect(answer.headers.get('content-type')).toBe('application/token-introspection+jwt')
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(decode(answer.text, 0)).toEqual({ alg: 'ES256', kid: 'es256', typ: 'token-introspection+jwt' })
      const { token_introspection: introspection, ...top } = decode(answer.text, 1)
      expect(top).toEqual({ iss: host.server.issuer, aud: 'api', iat: expect.any(Number) })
      expect(introspection).toMatchObject({ active: true, aud: api, sub: subject })
      const requestId = answer.headers.get('x-request-id')
      const digest = createHash('sha256')
        .update(answer.text.slice(0, answer.text.lastIndexOf('.')))
        .digest('base64url')
      const line = (await host.server.audit()).find(({ request_id }) => request_id === requestId)
      expect(line).toMatchObject({
        event: 'introspection.signed',
        client_id: 'api',
        active: true,
        jti: decode(access_token, 1)['jti'],
        signatures: [{ kid: 'es256', typ: 'token-introspection+jwt', purpose: 'introspection', digest }],
      })
    }
    const inactive = await signedFor(id_token, 'application/token-introspection+jwt')
    expect(decode(inactive.text, 1)['token_introspection']).toEqual({ active: false })
    for (const accept of ['*/*', 'application/*', 'application/jwt', 'application/token-introspection+jwt;q=0', ''])
      expect((await signedFor(access_token, accept)).body['active']).toBe(true)
  })

  it('no token is in the audit log', async () => {
    const { access_token, refresh_token } = await issue()
    await introspect(access_token, webClient)
    await introspect(refresh_token, otherClient)
    const text = JSON.stringify(await host.server.audit())
    for (const token of [access_token, refresh_token]) expect(text).not.toContain(part(token, 2) || token)
  })
})
