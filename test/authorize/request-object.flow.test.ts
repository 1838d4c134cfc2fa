import * as openid from 'openid-client'
import { importJWK } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newAssertionKey, signAssertion } from '../support/clients/client-assertion.js'
import { basic } from '../support/clients/clients.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { person, redirectUri, startServer, webClient, type TestServer } from '../support/server/server.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

const key = newAssertionKey()
const other = newAssertionKey()
const pkce = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
const asked = { redirect_uri: redirectUri, response_type: 'code', scope: 'openid', state: 'inner', ...pkce }

type Claims = Readonly<Record<string, unknown>>

describe('signed authorization requests', () => {
  let server: TestServer
  beforeAll(async () => {
    const signing = { ...webClient, jwks: { keys: [key.publicJwk] }, consent: 'implicit' }
    server = await startServer({
      configure: (written) => ({
        ...written,
        clients: [
          { ...signing, client_id: 'signing' },
          { ...signing, client_id: 'strict', require_signed_request_object: true },
          { ...signing, client_id: 'ps256', request_object_signing_alg: 'PS256' },
          { ...webClient, client_id: 'keyless' },
        ],
      }),
    })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const now = () => Math.floor(Date.now() / 1000)
  const claimsOf = (client_id: string, more: Claims = {}): Claims => ({
    ...{ client_id, iss: client_id, aud: server.issuer, exp: now() + 60, nbf: now(), iat: now(), ...asked },
    ...more,
  })
  const sign = (claims: Claims, header: Claims = {}, by = key) =>
    signAssertion(by, { alg: by.alg, kid: by.kid, typ: 'oauth-authz-req+jwt', ...header }, claims)

  const open = async (client_id: string, request: string, outer: Record<string, string> = {}) => {
    const query = new URLSearchParams({ client_id, request, ...outer })
    const { response, left, url } = await new UserAgent().follow(`${server.issuer}/authorize?${query}`)
    return { status: response.status, left, path: url.pathname, text: await response.text() }
  }
  const push = async (client_id: string, form: Record<string, string>) => {
    const response = await fetch(`${server.issuer}/par`, {
      method: 'POST',
      headers: { authorization: basic({ ...webClient, client_id }) },
      body: new URLSearchParams(form),
    })
    const { error, request_uri = '' } = (await response.json()) as { error?: string; request_uri?: string }
    return { status: response.status, error, request_uri }
  }
  const login = expect.stringMatching(/\/login$/) as string

  it('use only the parameters inside them, ignoring even a state beside them', async () => {
    const query = { client_id: 'signing', request: sign(claimsOf('signing', { max_age: 300 })) }
    const outer = { redirect_uri: 'https://evil.example/', scope: 'openid email', state: 'outer', prompt: 'none' }
    const at = `${server.issuer}/authorize?${new URLSearchParams({ ...query, ...outer })}`
    const left = await new UserAgent().authorize(at, person)
    expect(`${left.origin}${left.pathname}`).toBe(redirectUri)
    expect(Object.fromEntries(left.searchParams)).toMatchObject({ state: 'inner', iss: server.issuer })
    const stateless = claimsOf('signing', { state: undefined })
    const without = await new UserAgent().authorize(
      `${server.issuer}/authorize?${new URLSearchParams({ client_id: 'signing', request: sign(stateless), state: 'outer' })}`,
      person,
    )
    expect([without.searchParams.has('code'), without.searchParams.has('state')]).toEqual([true, false])
  })

  it.each<[string, Claims, Claims]>([
    ['without typ', { typ: undefined }, {}],
    ['of type JWT', { typ: 'JWT' }, {}],
    ...['oauth-authz-req+jwt', 'JWT']
      .flatMap(spellingsOf)
      .map((typ): [string, Claims, Claims] => [`of type ${typ}`, { typ }, {}]),
    ['without a kid', { kid: undefined }, {}],
    ['with aud as a list', {}, { aud: ['https://other.example', 'ISSUER'] }],
    ['without the claims of a JWT', {}, { iss: undefined, aud: undefined, exp: undefined, nbf: undefined }],
    ['8 s in the future', {}, { nbf: 8, iat: 8, exp: 60 }],
    ['claims as an object, and max_age as a number', {}, { claims: { userinfo: { email: null } }, max_age: 60 }],
  ])('%s are accepted', async (_, header, change) => {
    const times = Object.entries(change).map(([name, value]) =>
      ['nbf', 'iat', 'exp'].includes(name) && typeof value === 'number' ? [name, now() + value] : [name, value],
    )
    const named = JSON.parse(JSON.stringify(Object.fromEntries(times)).replace('ISSUER', server.issuer)) as Claims
    const absent = Object.fromEntries(Object.keys(change).map((name) => [name, undefined]))
    const claims = { ...claimsOf('signing'), ...absent, ...named }
    expect(await open('signing', sign(claims, header))).toMatchObject({ status: 200, path: login })
  })

  const bad: readonly (readonly [string, (client: string) => string])[] = [
    [
      'JA01 unsigned',
      (client) => `eyJhbGciOiJub25lIn0.${Buffer.from(JSON.stringify(claimsOf(client))).toString('base64url')}.`,
    ],
    ['JA02 by a key that the client has not', (client) => sign(claimsOf(client), { kid: key.kid }, other)],
    ['JA02 under an unknown kid', (client) => sign(claimsOf(client), {}, other)],
    ['JA03 with HS256', (client) => sign(claimsOf(client), { alg: 'HS256' })],
    ['JA03 with another alg than its key', (client) => sign(claimsOf(client), { alg: 'PS256' })],
    ['JA04 of another type of token', (client) => sign(claimsOf(client), { typ: 'at+jwt' })],
    ['JA04 of an assertion', (client) => sign(claimsOf(client), { typ: 'client-authentication+jwt' })],
    ['JA05 of another client', (client) => sign(claimsOf(client, { client_id: 'keyless' }))],
    ['JA05 without client_id', (client) => sign(claimsOf(client, { client_id: undefined }))],
    ['JA05 with another iss', (client) => sign(claimsOf(client, { iss: 'keyless' }))],
    ['JA06 for another server', (client) => sign(claimsOf(client, { aud: 'https://other.example' }))],
    ['JA06 for nobody', (client) => sign(claimsOf(client, { aud: [] }))],
    ['JA07 expired', (client) => sign(claimsOf(client, { exp: now() - 61 }))],
    ['JA07 61 s in the future', (client) => sign(claimsOf(client, { nbf: now() + 61, exp: now() + 200 }))],
    ['JA07 made 61 s in the future', (client) => sign(claimsOf(client, { iat: now() + 61 }))],
    ['JA07 exp is text', (client) => sign(claimsOf(client, { exp: 'tomorrow' }))],
    ['JA08 a request inside', (client) => sign(claimsOf(client, { request: 'x' }))],
    ['JA08 a request_uri inside', (client) => sign(claimsOf(client, { request_uri: 'https://x.example' }))],
    ['JA09 a parameter of no known shape', (client) => sign(claimsOf(client, { nonce: null }))],
    ['JA09 not a JWT', () => 'x'],
    ['JA09 encrypted', () => 'eyJhbGciOiJSU0EtT0FFUCJ9.a.b.c.d'],
    ['JA09 of 9 KiB', (client) => sign(claimsOf(client, { nonce: 'n'.repeat(9000) }))],
  ]

  it.each(bad)('%s: an error page, and 400 when it is pushed', async (_, make) => {
    expect(await open('signing', make('signing'))).toMatchObject({ status: 400, left: undefined })
    expect(await push('signing', { request: make('signing') })).toEqual({
      ...{ status: 400, error: 'invalid_request_object', request_uri: '' },
    })
  })

  it('JA10 of a client without keys, or with an algorithm other than the registered one, are refused', async () => {
    expect(await open('keyless', sign(claimsOf('keyless')))).toMatchObject({ status: 400, left: undefined })
    expect(await push('ps256', { request: sign(claimsOf('ps256')) })).toMatchObject({ error: 'invalid_request_object' })
  })

  it.each(['iss', 'aud', 'exp', 'nbf'])('JA11 without %s are refused where they are required', async (name) => {
    expect(await open('strict', sign(claimsOf('strict')))).toMatchObject({ status: 200, path: login })
    const request = sign(claimsOf('strict', { [name]: undefined }))
    expect(await open('strict', request)).toMatchObject({ status: 400, left: undefined })
    expect(await push('strict', { request })).toMatchObject({ status: 400, error: 'invalid_request_object' })
  })

  it('JA11 that are too old, or valid for too long, are refused where they are required', async () => {
    for (const change of [{ nbf: now() - 3700 }, { exp: now() + 3700 }])
      expect(await push('strict', { request: sign(claimsOf('strict', change)) })).toMatchObject({ status: 400 })
    expect(
      await push('strict', { request: sign(claimsOf('strict', { nbf: now() - 1000, exp: now() + 1000 })) }),
    ).toMatchObject({ status: 201 })
  })

  it('JA12 are mandatory for a client that registered so: an error page, and 400 at /par', async () => {
    const query = new URLSearchParams({ client_id: 'strict', ...asked })
    const { response, left } = await new UserAgent().follow(`${server.issuer}/authorize?${query}`)
    expect([response.status, left]).toEqual([400, undefined])
    expect(await response.text()).toContain('must sign its requests')
    expect(await push('strict', asked)).toMatchObject({ status: 400, error: 'invalid_request' })
  })

  it('JA13 with an unregistered redirect URI get an error page', async () => {
    const request = sign(claimsOf('signing', { redirect_uri: 'https://evil.example/' }))
    expect(await open('signing', request)).toMatchObject({ status: 400, left: undefined })
    expect(await push('signing', { request })).toMatchObject({ status: 400, error: 'invalid_request' })
  })

  it('JA14 with an unavailable scope are refused by a redirect, with iss', async () => {
    const { left } = await open('signing', sign(claimsOf('signing', { scope: 'nothing' })))
    expect([left?.searchParams.get('error'), left?.searchParams.get('iss')]).toEqual(['invalid_scope', server.issuer])
  })

  it('are pushed by openid-client, as the discovery document describes', async () => {
    const jwk = key.privateKey.export({ format: 'jwk' })
    const config = await openid.discovery(
      new URL(server.issuer),
      'strict',
      webClient.client_secret,
      openid.ClientSecretBasic(),
      { execute: [openid.allowInsecureRequests] },
    )
    const signing = { key: (await importJWK(jwk, 'ES256')) as CryptoKey, kid: key.kid }
    const at = await openid.buildAuthorizationUrlWithJAR(config, { ...asked }, signing)
    expect((await new UserAgent().authorize(at, person)).searchParams.has('code')).toBe(true)
    expect(config.serverMetadata()).toMatchObject({
      request_parameter_supported: true,
      request_uri_parameter_supported: false,
      require_signed_request_object: false,
      request_object_signing_alg_values_supported: expect.not.arrayContaining(['none', 'HS256']),
    })
  })

  it('are mandatory in a deployment that requires them', async () => {
    await using all = await startServer({
      configure: (written) => ({ ...written, require_signed_request_object: true }),
    })
    const { response, left } = await new UserAgent().follow(
      `${all.issuer}/authorize?${new URLSearchParams({ client_id: 'app', ...asked })}`,
    )
    expect([response.status, left]).toEqual([400, undefined])
    const metadata = (await (await fetch(`${all.issuer}/.well-known/openid-configuration`)).json()) as object
    expect(metadata).toMatchObject({ require_signed_request_object: true })
  })
})
