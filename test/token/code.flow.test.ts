import { createLocalJWKSet, createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { discover, newAuthorization, signIn } from '../support/clients/authorization.js'
import { person, startServer, subject, webClient, publicClient, type TestServer } from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'

const algorithms = ['ES256', 'ES384', 'EdDSA', 'RS256', 'RS384', 'RS512', 'PS256'] as const

describe.each(algorithms)('the code flow through openid-client, signed with %s', (alg) => {
  let server: TestServer
  let client: oidc.Configuration

  beforeAll(async () => {
    server = await startServer({
      configure: (configuration) => ({
        ...configuration,
        id_token_signing_alg: alg,
        keys: [{ kid: `key-${alg}`, alg, signer: 'local', ref: 'key.pem' }],
      }),
    })
    const authentication = oidc.ClientSecretBasic(webClient.client_secret)
    client = await discover(server.issuer, webClient.client_id, authentication, alg)
  })
  afterAll(async () => server[Symbol.asyncDispose]())

  it('signs in, verifies every token, reads userinfo and refreshes', async () => {
    const { url, checks } = await newAuthorization(client)
    const callback = await new UserAgent().authorize(url, person)
    expect(callback.searchParams.get('iss')).toBe(server.issuer)

    const tokens = await oidc.authorizationCodeGrant(client, callback, checks)
    const claims = tokens.claims()
    expect(claims).toMatchObject({ iss: server.issuer, sub: subject, aud: 'web', amr: ['pwd'] })
    expect(claims?.auth_time).toBeTypeOf('number')
    expect(claims?.['name']).toBeUndefined()

    const keys = createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`))
    const access = await jwtVerify(tokens.access_token, keys, {
      issuer: server.issuer,
      audience: server.issuer,
      typ: 'at+jwt',
      algorithms: [alg],
    })
    expect(access.payload).toMatchObject({
      sub: subject,
      client_id: 'web',
      scope: 'openid profile email offline_access',
    })
    expect(decodeProtectedHeader(tokens.access_token)).toEqual({ alg, kid: `key-${alg}`, typ: 'at+jwt' })

    const userinfo = await oidc.fetchUserInfo(client, tokens.access_token, subject)
    expect(userinfo).toEqual({
      sub: subject,
      name: 'Alice Adams',
      email: 'alice@bank.example',
      email_verified: true,
    })

    const refreshed = await oidc.refreshTokenGrant(client, tokens.refresh_token ?? '')
    expect(refreshed.claims()).toMatchObject({
      sub: subject,
      nonce: checks.expectedNonce,
      auth_time: claims?.auth_time,
    })
    expect(refreshed.access_token).not.toBe(tokens.access_token)
    await jwtVerify(refreshed.access_token, keys, { issuer: server.issuer, typ: 'at+jwt' })
  })

  it('publishes no private member', async () => {
    const set = (await (await fetch(`${server.issuer}/jwks.json`)).json()) as { keys: Record<string, unknown>[] }
    expect(set.keys).toHaveLength(1)
    expect(set.keys[0]).toMatchObject({ kid: `key-${alg}`, alg, use: 'sig' })
    for (const name of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) expect(set.keys[0]).not.toHaveProperty(name)
    expect(() => createLocalJWKSet(set as never)).not.toThrow()
  })
})

describe('a public client with PKCE', () => {
  it('gets rotated refresh tokens, an honest retry included, and loses the family at a replay', async () => {
    await using server = await startServer()
    const client = await discover(server.issuer, publicClient.client_id, oidc.None())
    const first = await signIn(client)
    const second = await oidc.refreshTokenGrant(client, first.refresh_token ?? '')
    const retried = await oidc.refreshTokenGrant(client, first.refresh_token ?? '')
    expect(retried.refresh_token).toBe(second.refresh_token)
    const third = await oidc.refreshTokenGrant(client, second.refresh_token ?? '')
    await expect(oidc.refreshTokenGrant(client, first.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    await expect(oidc.refreshTokenGrant(client, third.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    await expect(oidc.fetchUserInfo(client, third.access_token, subject)).rejects.toMatchObject({ status: 401 })
    expect((await server.audit()).map(({ event }) => event)).toContain('refresh.reused')
  })
})
