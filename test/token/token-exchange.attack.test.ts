import { randomUUID, type KeyObject } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { subject } from '../support/server/server.js'
import { createProver } from '../support/clients/dpop-proof.js'
import { api, basic, type Credentials } from '../support/clients/clients.js'
import {
  accessType,
  delegate,
  gateway,
  grantType,
  idType,
  ledger,
  noExchange,
  publicExchange,
  startExchangeServer,
  stranger,
  web,
  type ExchangeServer,
  type Issued,
} from '../support/server/exchange-server.js'
import { decode, forge, part } from '../support/forge/forge.js'
import { expectRefusal } from '../support/server/token-server.js'

// Most of these tokens are signed with the issuer's own key, so that nothing but the rule under test can refuse them.

let host: ExchangeServer
let key: KeyObject
let alice: Issued

beforeAll(async () => {
  host = await startExchangeServer()
  key = await host.key()
  alice = await host.signIn()
})
afterAll(() => host[Symbol.asyncDispose]())

/** The honest request. */
const shown = (token: string, type = accessType) => ({ subject_token: token, subject_token_type: type })

afterEach(async () => {
  const answer = await host.exchange(gateway, shown(alice.access))
  expect(answer).toMatchObject({ status: 200, body: { issued_token_type: accessType } })
})

type Change = Readonly<Record<string, unknown>>
const access = (claims: Change, header: Change = {}): string =>
  forge(key, { ...decode(alice.access, 0), ...header }, { ...decode(alice.access, 1), jti: randomUUID(), ...claims })

const expectRefused = async (form: Record<string, string | undefined>, error: string, client: Credentials = gateway) =>
  expectRefusal(await host.exchange(client, form), 400, error)

describe('token exchange', () => {
  it('the forgery is as good as a token of ours while nothing in it is wrong', async () => {
    expect((await host.exchange(gateway, shown(access({})))).status).toBe(200)
  })

  it.each([
    ['subject_token', { subject_token: undefined }],
    ['subject_token_type', { subject_token_type: undefined }],
    ['actor_token_type', { actor_token: 'x' }],
    ['actor_token', { actor_token_type: accessType }],
  ])('names the parameter %s where it is missing', async (name, change) => {
    const answer = await host.exchange(gateway, { ...shown(alice.access), ...change })
    expectRefusal(answer, 400, 'invalid_request')
    expect(answer.body['error_description']).toBe(`The parameter ${name} is missing.`)
  })

  it('names no parameter that is malformed, nor its value', async () => {
    const answer = await host.exchange(gateway, { ...shown(alice.access), requested_token_type: 'urn:x' })
    expectRefusal(answer, 400, 'invalid_request')
    expect(answer.body['error_description']).toBe('A parameter of the grant is malformed.')
  })

  it('TX01 expired or malformed subject_token', async () => {
    const now = Math.floor(host.now() / 1000)
    const expired = [access({ exp: now }), access({ exp: now - 600 }), access({ exp: 'soon' }), access({ exp: null })]
    const malformed = ['x', 'a.b.c', `${alice.access}x`, alice.access.slice(0, -4), `${alice.access}.`, '{}', '😀']
    for (const token of [...expired, ...malformed]) await expectRefused(shown(token), 'invalid_request')
    await expectRefused({ subject_token_type: accessType }, 'invalid_request')
    await expectRefused({ subject_token: alice.access }, 'invalid_request')
    await expectRefused(shown(access({ nbf: now + 3600 })), 'invalid_request')
  })

  it('TX02 a type that lies', async () => {
    await expectRefused(shown(alice.id), 'invalid_request', web)
    await expectRefused(shown(alice.access, idType), 'invalid_request', web)
    for (const typ of ['JWT', 'jwt', 'text/at+jwt', 'at+jwt;x=1', 'userinfo+jwt', undefined])
      await expectRefused(shown(access({}, { typ })), 'invalid_request')
    const types = [
      'urn:ietf:params:oauth:token-type:jwt',
      'urn:ietf:params:oauth:token-type:refresh_token',
      'access_token',
    ]
    for (const type of types) await expectRefused(shown(alice.access, type), 'invalid_request')
  })

  it('TX03 foreign issuer, alg none, unknown kid, keys in the header', async () => {
    const none = `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${part(alice.access, 1)}.`
    const tokens = [
      access({ iss: 'https://evil.example' }),
      access({ iss: `${host.server.issuer}/` }),
      access({ iss: [host.server.issuer] }),
      access({}, { kid: 'unknown' }),
      access({}, { kid: undefined, jku: `${host.server.issuer}/jwks.json` }),
      access({}, { alg: 'HS256' }),
      none,
    ]
    for (const token of tokens) await expectRefused(shown(token), 'invalid_request')
  })

  it('TX04 scope beyond the subject token', async () => {
    await expectRefused({ ...shown(alice.access), scope: 'write' }, 'invalid_scope')
    await expectRefused({ ...shown(alice.access), scope: 'read write' }, 'invalid_scope')
    await expectRefused({ ...shown(alice.access), scope: 'unknown' }, 'invalid_scope')
    await expectRefused({ ...shown(access({ scope: undefined })), scope: 'read' }, 'invalid_scope')
    await expectRefused({ ...shown(access({ scope: ['read'] })), scope: 'read' }, 'invalid_scope')
    await expectRefused({ ...shown(alice.id, idType), scope: 'write' }, 'invalid_scope', web)
  })

  it('TX05 audience or resource that the client or the token does not have', async () => {
    for (const name of ['audience', 'resource']) {
      await expectRefused({ ...shown(alice.access), [name]: 'https://evil.example' }, 'invalid_target')
      await expectRefused({ ...shown(alice.access), [name]: 'not a uri' }, 'invalid_target')
      // It is allowed to the client, but the token is not for it, and only the gateway may go on to it.
      await expectRefused({ ...shown(alice.access), [name]: ledger }, 'invalid_target', web)
      await expectRefused({ ...shown(alice.id, idType), [name]: 'https://evil.example' }, 'invalid_target', web)
    }
    const mixed = [...Object.entries(shown(alice.access)), ['audience', api], ['audience', 'https://evil.example']]
    expectRefusal(await host.exchange(gateway, mixed as [string, string][]), 400, 'invalid_target')
  })

  it('TX06 an incomplete actor', async () => {
    await expectRefused({ ...shown(alice.access), actor_token: await host.own(delegate) }, 'invalid_request', delegate)
    await expectRefused({ ...shown(alice.access), actor_token_type: accessType }, 'invalid_request', delegate)
  })

  it('TX07 tokens of unrelated contexts make no chain', async () => {
    const actor = (token: string) => ({ actor_token: token, actor_token_type: accessType })
    const own = await host.own(gateway)
    // Nobody allowed the gateway to act for what web was given.
    await expectRefused({ ...shown(alice.access), ...actor(own) }, 'invalid_request')
    // The actor of somebody else, with and without leave.
    await expectRefused({ ...shown(alice.access), ...actor(await host.own(gateway)) }, 'invalid_request', delegate)
    await expectRefused({ ...shown(alice.access), ...actor(await host.own(stranger)) }, 'invalid_request', delegate)
    // Two people at one client.
    await expectRefused({ ...shown(alice.access), ...actor(access({ sub: 'bob' })) }, 'invalid_request', web)
    // may_act that names another, or says more than is so.
    for (const may_act of [
      { sub: 'someone' },
      { sub: 'gateway', client_id: 'web' },
      {},
      'gateway',
      { iss: host.server.issuer },
    ])
      await expectRefused({ ...shown(access({ may_act })), ...actor(own) }, 'invalid_request')
    // An actor that is acted for itself.
    const acted = { client_id: 'delegate', sub: 'delegate', act: { sub: 'x' } }
    await expectRefused({ ...shown(alice.access), ...actor(access(acted)) }, 'invalid_request', delegate)
    const allowed = shown(access({ may_act: { sub: 'gateway' } }))
    expect((await host.exchange(gateway, { ...allowed, ...actor(own) })).status).toBe(200)
  })

  it('TX08 an act chain without end', async () => {
    const nested = (depth: number): unknown => (depth === 0 ? undefined : { sub: `a${depth}`, act: nested(depth - 1) })
    const actor = { actor_token: await host.own(delegate), actor_token_type: accessType }
    for (const depth of [4, 5, 50, 1000])
      await expectRefused({ ...shown(access({ act: nested(depth) })), ...actor }, 'invalid_request', delegate)
    for (const act of [[], 'x', { sub: 1 }, { act: {} }, null])
      await expectRefused(shown(access({ act })), 'invalid_request')
    const deepest = await host.exchange(delegate, { ...shown(access({ act: nested(3) })), ...actor })
    expect(deepest.status).toBe(200)
  })

  it('TK17 an actor or a subject that the core could not have named', async () => {
    for (const name of ['', 'x'.repeat(256), 'Zoë', 'a\nb']) {
      await expectRefused(shown(access({ act: { sub: name } })), 'invalid_request')
      await expectRefused(shown(access({ act: { sub: 'a', client_id: name } })), 'invalid_request')
      await expectRefused(shown(access({ act: { sub: 'a', act: { sub: name } } })), 'invalid_request')
      await expectRefused(shown(access({ sub: name })), 'invalid_request')
    }
    await expectRefused(shown(access({ act: { sub: 'a', client_id: 1 } })), 'invalid_request')
    const longest = await host.exchange(gateway, shown(access({ act: { sub: 'x'.repeat(255) } })))
    expect(longest.status).toBe(200)
  })

  it('TX09 nobody, a wrong secret, a public client, a client without the grant', async () => {
    const form = { grant_type: grantType, ...shown(alice.access) }
    expectRefusal(await host.token(form), 401, 'invalid_client')
    expectRefusal(await host.token({ ...form, client_id: 'gateway' }), 401, 'invalid_client')
    const wrong = basic({ ...gateway, client_secret: 'wrong' })
    expectRefusal(await host.token(form, { authorization: wrong }), 401, 'invalid_client')
    expectRefusal(await host.token({ ...form, client_id: publicExchange.client_id }), 400, 'unauthorized_client')
    expectRefusal(await host.token(form, { authorization: basic(noExchange) }), 400, 'unauthorized_client')
    // With the grant, and no right to the token.
    await expectRefused(shown(alice.access), 'invalid_request', stranger)
    await expectRefused(shown(alice.id, idType), 'invalid_request', gateway)
  })

  it('TX10 a revoked token with a good signature, and what came from it', async () => {
    const revocations = host.store.revocations('revocations')
    const single = await host.signIn()
    await revocations.revoke(String(decode(single.access, 1)['jti']), 600)
    await expectRefused(shown(single.access), 'invalid_request')
    const whole = await host.signIn()
    const came = await host.exchange(gateway, shown(whole.access))
    await revocations.revoke(whole.grantId, 600)
    await expectRefused(shown(whole.access), 'invalid_request')
    await expectRefused(shown(whole.id, idType), 'invalid_request', web)
    await expectRefused(shown(String(came.body['access_token'])), 'invalid_request')
    await expectRefused(shown(access({ jti: undefined })), 'invalid_request')
  })

  it('TX11 a bound token without its proof', async () => {
    for (const cnf of [{ jkt: 'x'.repeat(43) }, { 'x5t#S256': 'x'.repeat(43) }, { jwk: {} }, 'x', null])
      await expectRefused(shown(access({ cnf })), 'invalid_request')
  })

  it('TK16 a confirmation that names nothing, or what nobody can prove, is not met by any proof', async () => {
    const prover = createProver('ES256', () => host.now())
    const url = `${host.server.issuer}/token`
    for (const cnf of [{}, [], { kid: 'k' }, { jkt: prover.jkt, kid: 'k' }]) {
      const form = shown(access({ cnf }))
      await expectRefused(form, 'invalid_request')
      const asked = await host.exchange(gateway, form, { dpop: prover.proof(url, undefined) })
      const nonce = asked.headers.get('dpop-nonce') ?? ''
      const proved = await host.exchange(gateway, form, { dpop: prover.proof(url, nonce) })
      expectRefusal(proved, 400, 'invalid_request')
    }
  })

  it('TX11 with the proof of its key it is exchanged, and the new token is bound to that key', async () => {
    const prover = createProver('ES256', () => host.now())
    const url = `${host.server.issuer}/token`
    const form = shown(access({ cnf: { jkt: prover.jkt } }))
    const asked = await host.exchange(gateway, form, { dpop: prover.proof(url, undefined) })
    expectRefusal(asked, 400, 'use_dpop_nonce')
    const nonce = asked.headers.get('dpop-nonce') ?? ''
    const answer = await host.exchange(gateway, form, { dpop: prover.proof(url, nonce) })
    expect(answer).toMatchObject({ status: 200, body: { token_type: 'DPoP' } })
    expect(decode(String(answer.body['access_token']), 1)['cnf']).toEqual({ jkt: prover.jkt })
    const other = createProver('ES256', () => host.now())
    const stolen = await host.exchange(gateway, form, { dpop: other.proof(url, nonce) })
    expectRefusal(stolen, 400, 'invalid_request')
  })

  it('TX12 nothing outlives the subject token, and there is no refresh token', async () => {
    const soon = Math.floor(host.now() / 1000) + 30
    const { body } = await host.exchange(gateway, { ...shown(access({ exp: soon })), scope: 'openid read' })
    expect(decode(String(body['access_token']), 1)['exp']).toBe(soon)
    expect(body['expires_in']).toBeLessThanOrEqual(30)
    const all = await host.exchange(web, shown(alice.access))
    expect(all.status).toBe(200)
    expect(all.body).not.toHaveProperty('refresh_token')
    expect(all.body).not.toHaveProperty('id_token')
    expect(all.body['scope']).not.toContain('offline_access')
  })

  it('TX13 a requested_token_type that is not made here', async () => {
    const types = ['refresh_token', 'id_token', 'jwt', 'saml2'].map(
      (name) => `urn:ietf:params:oauth:token-type:${name}`,
    )
    for (const type of [...types, 'access_token', accessType.toUpperCase()])
      await expectRefused({ ...shown(alice.access), requested_token_type: type }, 'invalid_request')
  })

  it('repeated parameters are refused', async () => {
    for (const [name, value] of Object.entries(shown(alice.access)))
      expectRefusal(
        await host.exchange(gateway, [...Object.entries(shown(alice.access)), [name, value]]),
        400,
        'invalid_request',
      )
  })

  it('a removed person cannot be the subject', async () => {
    expectRefusal(await host.exchange(gateway, shown(access({ sub: 'gone' }))), 400, 'invalid_grant')
    expect(decode(alice.access, 1)['sub']).toBe(subject)
  })
})

describe('token exchange that is off', () => {
  it.each([
    ['by default', undefined],
    ['by configuration', false],
  ])('%s is an unsupported grant, loaded or not', async (_name, flag) => {
    await using off = await startExchangeServer((written) => ({
      ...written,
      ...(flag === undefined ? {} : { token_exchange_enabled: flag }),
      plugins: [...(written['plugins'] as object[]), { use: 'plugins/grants/token-exchange' }],
    }))
    const { access: token } = await off.signIn()
    expectRefusal(await off.exchange(web, shown(token)), 400, 'unsupported_grant_type')
    const discovery = await fetch(`${off.server.issuer}/.well-known/openid-configuration`)
    expect(((await discovery.json()) as Record<string, unknown>)['grant_types_supported']).not.toContain(grantType)
  })
})
