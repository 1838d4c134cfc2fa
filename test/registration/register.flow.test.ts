import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newAssertionKey } from '../support/clients/client-assertion.js'
import { basic } from '../support/clients/clients.js'
import { bearer, issueToken, manage, post, register, type Registered } from '../support/clients/registration.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { challenge } from '../support/forge/mint.js'
import { person, redirectUri } from '../support/server/server.js'
import { read, startTokenServer, type TokenServer } from '../support/server/token-server.js'

type Json = Record<string, unknown>

const web = { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'] }
const day = 86_400_000

const withKeys = (written: Json): Json => ({
  ...written,
  keys: [
    ...(written['keys'] as Json[]),
    { kid: 'rs256', alg: 'RS256', signer: 'local', ref: 'rs256.pem' },
    { kid: 'later', alg: 'PS256', signer: 'local', ref: 'ps256.pem', not_before: '2090-01-01T00:00:00Z' },
  ],
  registration: {
    mode: 'open',
    unused_days: 30,
    policies: {
      machines: { grant_types: ['client_credentials'], scopes: ['read'], audiences: ['https://api.example'] },
      basic: { token_endpoint_auth_methods: ['client_secret_basic', 'private_key_jwt'] },
      keyed: { token_endpoint_auth_methods: ['private_key_jwt'], scopes: ['openid', 'write'], signing_algs: ['ES256'] },
    },
  },
})

let host: TokenServer
let issuer: string
beforeAll(async () => {
  host = await startTokenServer({ configure: withKeys })
  ;({ issuer } = host.server)
})
afterAll(() => host[Symbol.asyncDispose]())

/** The code flow with what was registered, to the answer of the token endpoint. */
const signIn = async ({ client_id, client_secret = '' }: Registered) => {
  const query = new URLSearchParams({
    client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid offline_access',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  })
  const left = await new UserAgent().authorize(`${issuer}/authorize?${query}`, person)
  return host.redeem(left.searchParams.get('code') ?? '', {}, { client_id, client_secret })
}

const stored = (id: string) => host.store.records<Json & { registration: Json }>('clients').find(id)

describe('POST /register', () => {
  it('answers 201 with all that was registered, and the secrets that nothing shows again', async () => {
    const sent = {
      ...web,
      client_name: 'Example <Shop>',
      scope: 'openid profile offline_access',
      contacts: ['ops@shop.example'],
      client_uri: 'https://shop.example/',
      logo_uri: 'https://shop.example/logo.png',
      policy_uri: 'https://shop.example/privacy',
      tos_uri: 'https://shop.example/terms',
      initiate_login_uri: 'https://shop.example/login',
      post_logout_redirect_uris: ['https://shop.example/bye'],
      software_id: '4NRB1-0XZABZI9E6-5SM3R',
      software_version: '2.1',
      default_max_age: 3600,
      require_auth_time: true,
    }
    const answer = await post(issuer, { ...sent, something_else: true, subject_type: null })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    const { client_id, client_secret, registration_access_token, ...told } = answer.body
    expect(told).toEqual({
      ...sent,
      application_type: 'web',
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
      id_token_signed_response_alg: 'RS256',
      security_profile: 'oauth2',
      client_id_issued_at: expect.any(Number),
      client_secret_expires_at: 0,
      registration_client_uri: `${issuer}/register/${String(client_id)}`,
    })
    expect(Math.abs((told['client_id_issued_at'] as number) - host.now() / 1000)).toBeLessThan(60)
    for (const secret of [client_secret, registration_access_token]) expect(secret).toMatch(/^[\w-]{43}$/)
    const record = JSON.stringify(await stored(String(client_id)))
    for (const secret of [client_secret, registration_access_token]) expect(record).not.toContain(secret)
    const line = (await host.server.audit()).find((one) => one['event'] === 'client.registered')
    expect(line).toMatchObject({ client_id, grant_types: 'authorization_code refresh_token' })
    expect(JSON.stringify(await host.server.audit())).not.toContain(registration_access_token)
  })

  it('is where discovery says', async () => {
    const document = await read(await fetch(`${issuer}/.well-known/openid-configuration`))
    expect(document.body['registration_endpoint']).toBe(`${issuer}/register`)
  })

  it('registers clients that sign people in, by the algorithm that was told', async () => {
    const client = await register(issuer, web)
    const { body } = await signIn(client)
    const [header = ''] = String(body['id_token']).split('.')
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toMatchObject({ alg: 'RS256' })
    const again = await host.refresh(String(body['refresh_token']), {}, client)
    expect(again.status).toBe(200)
  })

  it('signs with the algorithm that a client asks for, and with none that signs nothing now', async () => {
    const told = await register(issuer, { ...web, id_token_signed_response_alg: 'ES256' })
    expect(told['id_token_signed_response_alg']).toBe('ES256')
    const refused = await post(issuer, { ...web, id_token_signed_response_alg: 'RS512' })
    expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } })
    expect(refused.body['error_description']).toContain('id_token_signed_response_alg')
  })

  it('gives public clients and clients with keys no secret', async () => {
    for (const metadata of [
      { token_endpoint_auth_method: 'none' },
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [newAssertionKey().publicJwk], more: 1 } },
      { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://client.example/jwks' },
    ]) {
      const told = await register(issuer, { ...web, ...metadata })
      expect(Object.keys(told).filter((name) => name.startsWith('client_secret'))).toEqual([])
    }
  })
})

describe('a client that names no token_endpoint_auth_method', () => {
  /** Whether its secret is taken by Basic, and whether in the form. */
  const takes = async ({ client_id, client_secret = '' }: Registered) => {
    const form = { grant_type: 'authorization_code', code: 'unknown' }
    const answers = [
      await host.token(form, { authorization: basic({ client_id, client_secret }) }),
      await host.token({ ...form, client_id, client_secret }),
    ]
    return answers.map(({ body }) => body['error'])
  }
  const both = ['invalid_grant', 'invalid_grant']

  it('learns client_secret_basic, and may use the form, too', async () => {
    const told = await register(issuer, web)
    expect(told).toMatchObject({ token_endpoint_auth_method: 'client_secret_basic' })
    expect(await takes(told)).toEqual(both)
    expect((await host.token({ grant_type: 'authorization_code', client_id: told.client_id })).status).toBe(401)
  })

  it('keeps that when it sends back what it was told', async () => {
    const told = await register(issuer, web)
    const shown = (await manage('GET', told)).body
    expect(shown).toMatchObject({ token_endpoint_auth_method: 'client_secret_basic' })
    const answer = await manage('PUT', told, { ...shown, client_secret: told.client_secret })
    expect(answer.status).toBe(200)
    expect(await takes({ ...told, ...answer.body })).toEqual(both)
  })

  it('is held to the one that it names', async () => {
    const named = await register(issuer, { ...web, token_endpoint_auth_method: 'client_secret_basic' })
    expect(await takes(named)).toEqual(['invalid_grant', 'invalid_client'])
    const now = await manage('PUT', named, { ...web, client_id: named.client_id })
    expect(await takes({ ...named, ...now.body })).toEqual(both)
    const later = { ...named, ...now.body } as Registered
    const form = { ...web, client_id: named.client_id, token_endpoint_auth_method: 'client_secret_post' }
    expect(await takes({ ...later, ...(await manage('PUT', later, form)).body })).toEqual([
      'invalid_client',
      'invalid_grant',
    ])
  })

  it('has what its policy allows alone', async () => {
    const token = await issueToken(host.store, host.now, { policy: 'basic' })
    expect(await takes(await register(issuer, web, token))).toEqual(['invalid_grant', 'invalid_client'])
  })
})

describe('initial access tokens', () => {
  it('register as many clients as they have uses, by their policy', async () => {
    const token = await issueToken(host.store, host.now, { uses: 2, policy: 'machines' })
    const machine = { grant_types: ['client_credentials'] }
    const told = await register(issuer, machine, token)
    expect(told).toMatchObject({ scope: 'read', allowed_audiences: ['https://api.example'] })
    expect(told).toMatchObject({ grant_types: ['client_credentials'], response_types: [], redirect_uris: [] })
    const form = { grant_type: 'client_credentials', resource: 'https://api.example' }
    const headers = { authorization: basic(told) }
    expect((await host.token(form, headers)).status).toBe(200)
    // What is refused uses nothing up.
    expect((await post(issuer, { ...machine, scope: 'write' }, bearer(token))).status).toBe(400)
    await register(issuer, {}, token)
    const over = await post(issuer, machine, bearer(token))
    expect(over).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
    expect(over.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
    expect((await stored(told.client_id))?.registration).toMatchObject({ policy: 'machines' })
  })

  it('may let defaults be others than those of RFC 7591', async () => {
    const token = await issueToken(host.store, host.now, { policy: 'keyed' })
    const jwks = { keys: [newAssertionKey().publicJwk] }
    expect(await register(issuer, { ...web, jwks }, token)).toMatchObject({
      token_endpoint_auth_method: 'private_key_jwt',
      id_token_signed_response_alg: 'ES256',
      scope: 'openid write',
    })
  })

  it('end with their time, when they are revoked, and with their policy', async () => {
    const expired = await issueToken(host.store, host.now, { ttlSeconds: -1 })
    const revoked = await issueToken(host.store, host.now)
    await host.store.records('initial_access_tokens').remove(revoked.slice(0, 16))
    const orphan = await issueToken(host.store, host.now, { policy: 'of yesterday' })
    for (const token of [expired, revoked, orphan])
      expect(await post(issuer, web, bearer(token))).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
  })
})

describe('clients that nobody uses', () => {
  it('are forgotten after unused_days, unless a person signed in to them', async () => {
    const unused = await register(issuer, web)
    const used = await register(issuer, web)
    expect((await signIn(used)).status).toBe(200)
    expect((await stored(used.client_id))?.registration).not.toHaveProperty('unused_until')
    expect((await stored(unused.client_id))?.registration).toHaveProperty('unused_until')
    // A change is no use, and does not put off the end.
    const changed = await manage('PUT', unused, { ...web, client_id: unused.client_id })
    host.later(31 * day)
    try {
      expect((await manage('GET', used)).status).toBe(200)
      expect((await manage('GET', changed.body as unknown as Registered)).status).toBe(401)
      expect(await stored(unused.client_id)).toBeUndefined()
    } finally {
      host.later(-31 * day)
    }
  })
})
