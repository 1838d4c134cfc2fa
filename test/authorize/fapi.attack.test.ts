import { constants, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessTokenHash, createProver } from '../support/clients/dpop-proof.js'
import { signAssertion } from '../support/clients/client-assertion.js'
import {
  createFapiClient,
  fapiMetadata,
  keys,
  redirectUri,
  type Answer,
  type FapiClient,
} from '../support/clients/fapi-client.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

const claimsOf = (token: unknown): Answer =>
  JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString()) as Answer

describe('FAPI 2.0 Security Profile', () => {
  let server: TestServer
  let client: FapiClient
  let now = Date.now()
  beforeAll(async () => {
    server = await startServer({
      clock: () => now,
      configure: (written) => ({ ...written, authorization_code_ttl_secs: 600, clients: [fapiMetadata] }),
    })
    client = createFapiClient(server.issuer, () => now)
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const codeFor = async () => (await client.authorize(person)).searchParams.get('code')
  const refused = (answer: { status: number; body: Answer }) =>
    `${String(answer.status)} ${String(answer.body['error'])}`

  it('issues bound tokens for a pushed request, and keeps the refresh token', async () => {
    const left = await client.authorize(person)
    expect(left.searchParams.get('iss')).toBe(server.issuer)
    const tokens = await client.redeem(left.searchParams.get('code'))
    expect(tokens).toMatchObject({ status: 200, body: { token_type: 'DPoP' } })
    expect(claimsOf(tokens.body['access_token'])).toMatchObject({ sub: subject, cnf: { jkt: client.own.jkt } })
    const refreshed = await client.refresh(tokens.body['refresh_token'])
    expect(refreshed.status).toBe(200)
    expect(refreshed.body['refresh_token'] ?? tokens.body['refresh_token']).toBe(tokens.body['refresh_token'])
    expect(claimsOf(refreshed.body['access_token'])).toMatchObject({ cnf: { jkt: client.own.jkt } })
    expect((await client.refresh(tokens.body['refresh_token'])).status).toBe(200)
    for (const scheme of ['DPoP', 'dpop', 'DPOP'])
      expect((await client.userinfo(refreshed.body['access_token'], { scheme })).status).toBe(200)
  })

  it('returns x-fapi-interaction-id at /userinfo, or creates one', async () => {
    const tokens = await client.redeem(await codeFor())
    const id = 'c770aef3-6784-41f7-8e0e-ff5f97bddb3a'
    const idOf = async (access: unknown, sent?: string) =>
      (await client.userinfo(access, sent === undefined ? {} : { id: sent })).headers.get('x-fapi-interaction-id')
    for (const access of [tokens.body['access_token'], 'no token']) {
      expect(await idOf(access, id)).toBe(id)
      expect(await idOf(access)).toMatch(uuid)
      expect(await idOf(access, 'x'.repeat(36))).toMatch(uuid)
    }
  })

  it('FA01 shows a page for a request that was not pushed', async () => {
    const query = new URLSearchParams({ client_id: client.clientId, ...client.parameters })
    const { response, left } = await new UserAgent().follow(`${server.issuer}/authorize?${query}`)
    expect(left).toBeUndefined()
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('must push its requests')
  })

  it('FA02 requires PKCE with S256', async () => {
    for (const form of [
      { code_challenge: undefined, code_challenge_method: undefined },
      { code_challenge_method: 'plain' },
      { code_challenge_method: undefined },
    ])
      expect(refused(await client.push({ form }))).toBe('400 invalid_request')
  })

  it('FA03 requires redirect_uri, even if only one is registered', async () => {
    // OpenID Connect wants it of everybody (OIDC Core §3.1.2.1), the profile also where nobody signs in by it.
    for (const scope of ['openid', 'read'])
      expect(refused(await client.push({ form: { redirect_uri: undefined, scope } }))).toBe('400 invalid_request')
    expect(refused(await client.push({ form: { redirect_uri: `${redirectUri}/` } }))).toBe('400 invalid_request')
  })

  it('FA04 accepts assertions only with the issuer as a single string', async () => {
    const { issuer } = server
    const code = await codeFor()
    for (const aud of [[issuer], [issuer, `${issuer}/token`], `${issuer}/token`, `${issuer}/par`, `${issuer}/`]) {
      const departure = { assertion: (claims: Answer) => ({ ...claims, aud }) }
      expect(refused(await client.push(departure)), String(aud)).toBe('401 invalid_client')
      expect(refused(await client.redeem(code, departure)), String(aud)).toBe('401 invalid_client')
    }
    expect((await client.redeem(code)).status).toBe(200)
  })

  it('FA05 accepts only PS256, ES256 and EdDSA for assertions', async () => {
    for (const key of [keys.RS256, keys.ES384]) expect(refused(await client.push({ key }))).toBe('401 invalid_client')
  })

  it('FA06 accepts clocks that are 10 s ahead, not 61 s, and assertions of five minutes', async () => {
    const at = (seconds: number) => Math.floor(now / 1000) + seconds
    for (const name of ['iat', 'nbf'])
      for (const [seconds, status] of [
        [8, 201],
        [10, 201],
        [61, 401],
      ] as const) {
        const departure = { assertion: (claims: Answer) => ({ ...claims, [name]: at(seconds), exp: at(120) }) }
        expect((await client.push(departure)).status, `${name} ${String(seconds)}`).toBe(status)
      }
    expect((await client.push({ assertion: (claims) => ({ ...claims, exp: at(300) }) })).status).toBe(201)
    expect((await client.push({ assertion: (claims) => ({ ...claims, exp: at(321) }) })).status).toBe(401)
  })

  it('FA07 accepts no other algorithm for proofs', async () => {
    const code = await codeFor()
    for (const prover of [createProver('RS256', () => now), createProver('ES384', () => now)]) {
      expect(refused(await client.push({ prover }))).toBe('400 invalid_dpop_proof')
      expect(refused(await client.redeem(code, { prover }))).toBe('400 invalid_dpop_proof')
    }
    expect((await client.redeem(code)).status).toBe(200)
  })

  it('FA07 accepts no other algorithm at /userinfo, even with the same key', async () => {
    const prover = createProver('PS256', () => now)
    const left = await client.authorize(person, { prover })
    const { body } = await client.redeem(left.searchParams.get('code'), { prover })
    const access = String(body['access_token'])
    const ask = async (padding: number, alg: string, nonce?: string) => {
      const signature = (input: string) =>
        sign('sha256', Buffer.from(input), { key: prover.privateKey, padding, saltLength: 32 })
      const claims = { htm: 'GET', ath: accessTokenHash(access) }
      const dpop = prover.proof(`${server.issuer}/userinfo`, nonce, { header: { alg }, claims, signature })
      return fetch(`${server.issuer}/userinfo`, { headers: { authorization: `DPoP ${access}`, dpop } })
    }
    const { RSA_PKCS1_PADDING, RSA_PKCS1_PSS_PADDING } = constants
    const nonce = (await ask(RSA_PKCS1_PSS_PADDING, 'PS256')).headers.get('dpop-nonce') ?? ''
    const other = await ask(RSA_PKCS1_PADDING, 'RS256', nonce)
    expect([other.status, other.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('invalid_dpop_proof'),
    ])
    expect((await ask(RSA_PKCS1_PSS_PADDING, 'PS256', nonce)).status).toBe(200)
  })

  it('FA08 issues no token without a proof, nor to a key other than that of /par', async () => {
    const code = await codeFor()
    expect(refused(await client.redeem(code, { unproved: true }))).toBe('400 invalid_dpop_proof')
    expect(refused(await client.redeem(code, { prover: createProver('ES256', () => now) }))).toBe('400 invalid_grant')
  })

  it('FA09 accepts a code for 60 seconds, however long others live', async () => {
    const [first, second] = [await codeFor(), await codeFor()]
    now += 59_000
    expect((await client.redeem(first)).status).toBe(200)
    now += 2_000
    expect(refused(await client.redeem(second))).toBe('400 invalid_grant')
  })

  it('FA10 accepts a code once, and a replay ends its tokens', async () => {
    const code = await codeFor()
    const tokens = await client.redeem(code)
    expect(refused(await client.redeem(code))).toBe('400 invalid_grant')
    expect(refused(await client.refresh(tokens.body['refresh_token']))).toBe('400 invalid_grant')
  })

  it('FA11 accepts no other authentication of this client, and no unauthenticated push', async () => {
    const without = { client_assertion: undefined, client_assertion_type: undefined }
    for (const form of [without, { ...without, client_secret: 'guess' }, { client_assertion_type: undefined }])
      expect((await client.push({ form })).status).toBe(401)
    expect(refused(await client.push({ assertion: (claims) => ({ ...claims, jti: undefined }) }))).toBe(
      '401 invalid_client',
    )
  })

  it('FA12 answers no other response_type than code', async () => {
    for (const response_type of ['code id_token', 'token', 'id_token', 'none'])
      expect(refused(await client.push({ form: { response_type } }))).toBe('400 unsupported_response_type')
  })

  it('FA13 refuses at /userinfo a token in the query, and a bound token as Bearer', async () => {
    const { body } = await client.redeem(await codeFor())
    const access = String(body['access_token'])
    const inQuery = await client.userinfo(access, { scheme: '', query: `?access_token=${access}` })
    expect(inQuery.status).toBe(400)
    for (const scheme of ['Bearer', 'bearer']) expect((await client.userinfo(access, { scheme })).status).toBe(401)
    expect((await client.userinfo(access)).status).toBe(200)
  })

  const requestObject = (departure: (claims: Answer) => Answer = (claims) => claims, key = keys.ES256) => {
    const at = Math.floor(now / 1000)
    const times = { iss: client.clientId, aud: server.issuer, nbf: at, exp: at + 60 }
    const claims = departure({ ...client.parameters, ...times, client_id: client.clientId })
    return signAssertion(key, { alg: key.alg, kid: key.kid, typ: 'oauth-authz-req+jwt' }, claims)
  }
  const onlyRequest = (request: string) => ({
    form: { ...Object.fromEntries(Object.keys(client.parameters).map((name) => [name, undefined])), request },
  })

  it('FA14 requires iss, aud, exp and nbf in request objects, and its algorithms', async () => {
    expect((await client.push(onlyRequest(requestObject()))).status).toBe(201)
    for (const name of ['iss', 'aud', 'exp', 'nbf']) {
      const request = requestObject((claims) => ({ ...claims, [name]: undefined }))
      expect(refused(await client.push(onlyRequest(request))), name).toBe('400 invalid_request_object')
    }
    const late = requestObject((claims) => ({ ...claims, exp: Number(claims['nbf']) + 3601 }))
    expect(refused(await client.push(onlyRequest(late)))).toBe('400 invalid_request_object')
    for (const key of [keys.RS256, keys.ES384])
      expect(refused(await client.push(onlyRequest(requestObject(undefined, key))))).toBe('400 invalid_request_object')
  })
})

describe('FAPI 2.0 Message Signing, for the whole deployment', () => {
  let server: TestServer
  let client: FapiClient
  beforeAll(async () => {
    const metadata = { ...fapiMetadata, security_profile: undefined }
    server = await startServer({
      configure: (written) => ({
        ...written,
        security_profile: 'fapi2',
        fapi2_message_signing: ['request', 'response', 'introspection'],
        clients: [metadata],
      }),
    })
    client = createFapiClient(server.issuer)
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const signed = (parameters: Answer = {}) => {
    const at = Math.floor(Date.now() / 1000)
    const times = { iss: client.clientId, aud: server.issuer, nbf: at, exp: at + 60 }
    const claims = { ...client.parameters, response_mode: 'jwt', ...times, client_id: client.clientId, ...parameters }
    const request = signAssertion(keys.ES256, { alg: 'ES256', kid: keys.ES256.kid }, claims)
    return { form: { ...Object.fromEntries(Object.keys(client.parameters).map((name) => [name, undefined])), request } }
  }

  it('announces it in the discovery document', async () => {
    const response = await fetch(`${server.issuer}/.well-known/openid-configuration`)
    const algorithms = ['EdDSA', 'ES256', 'Ed25519', 'PS256']
    const document = (await response.json()) as Answer
    expect(document).toMatchObject({
      require_pushed_authorization_requests: true,
      require_signed_request_object: true,
      token_endpoint_auth_methods_supported: ['private_key_jwt'],
    })
    for (const name of ['dpop', 'request_object', 'token_endpoint_auth']) {
      const member = document[`${name}_signing_alg_values_supported`] as string[]
      expect(
        [...member].sort((a, b) => a.localeCompare(b)),
        name,
      ).toEqual(algorithms.sort((a, b) => a.localeCompare(b)))
    }
  })

  it('FA15 accepts only signed requests', async () => {
    expect((await client.push(signed())).status).toBe(201)
    const unsigned = await client.push({ form: { response_mode: 'jwt' } })
    expect(unsigned).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  })

  it('FA16 gives only signed authorization responses', async () => {
    for (const response_mode of [undefined, 'query', 'form_post'])
      expect(await client.push(signed({ response_mode }))).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      })
    const left = await client.authorize(person, signed())
    expect([...left.searchParams.keys()]).toEqual(['response'])
    const answer = claimsOf(left.searchParams.get('response'))
    expect(answer).toMatchObject({ iss: server.issuer, aud: client.clientId, state: 'the state' })
    expect((await client.redeem(String(answer['code']))).status).toBe(200)
  })

  it('FA17 gives only signed introspection responses', async () => {
    const answer = await client.post('/introspect', { token: 'unknown' }, { unproved: true })
    expect(answer).toMatchObject({ status: 200, type: 'application/token-introspection+jwt' })
    expect(claimsOf(answer.text)).toMatchObject({ iss: server.issuer, token_introspection: { active: false } })
  })
})
