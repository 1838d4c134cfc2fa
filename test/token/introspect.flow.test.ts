import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { discover, signIn } from '../support/clients/authorization.js'
import {
  publicClient,
  serviceClient,
  startServer,
  subject,
  webClient,
  type TestServer,
} from '../support/server/server.js'

const api = 'https://api.example'
const apiServer = {
  ...serviceClient,
  client_id: api,
  client_secret: 'api-secret-of-more-than-256-bits-for-tests',
  introspection_signed_response_alg: 'EdDSA',
}

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    configure: (written) => ({
      ...written,
      keys: [
        { kid: 'es256', alg: 'ES256', signer: 'local', ref: 'es256.pem' },
        { kid: 'answers', alg: 'EdDSA', signer: 'local', ref: 'answers.pem', purposes: ['introspection'] },
      ],
      clients: [{ ...webClient, allowed_audiences: [api] }, publicClient, serviceClient, apiServer],
    }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const asked = { scope: 'openid email offline_access read' }

describe('introspection and revocation through openid-client', () => {
  it('discovery names the endpoints, who may use them and how answers are signed', async () => {
    const client = await discover(server.issuer, 'web', oidc.ClientSecretBasic(webClient.client_secret))
    const { token_endpoint_auth_methods_supported: methods = [], ...metadata } = client.serverMetadata()
    const algs = metadata.token_endpoint_auth_signing_alg_values_supported
    expect(methods).toEqual(expect.arrayContaining(['none', 'client_secret_basic', 'private_key_jwt']))
    expect(metadata).toMatchObject({
      introspection_endpoint: `${server.issuer}/introspect`,
      introspection_endpoint_auth_methods_supported: methods.filter((method) => method !== 'none'),
      introspection_endpoint_auth_signing_alg_values_supported: algs,
      introspection_signing_alg_values_supported: ['ES256', 'EdDSA'],
      revocation_endpoint: `${server.issuer}/revoke`,
      revocation_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_signing_alg_values_supported: algs,
    })
  })

  it('a client introspects its tokens, revokes the access token and then the grant', async () => {
    const client = await discover(server.issuer, 'web', oidc.ClientSecretBasic(webClient.client_secret))
    const tokens = await signIn(client, asked)
    const refreshToken = tokens.refresh_token ?? ''
    expect(await oidc.tokenIntrospection(client, tokens.access_token)).toMatchObject({
      active: true,
      iss: server.issuer,
      sub: subject,
      aud: server.issuer,
      client_id: 'web',
      scope: 'openid email offline_access read',
      token_type: 'Bearer',
    })
    expect(await oidc.tokenIntrospection(client, refreshToken)).toMatchObject({ active: true, sub: subject })

    await oidc.tokenRevocation(client, tokens.access_token)
    expect(await oidc.tokenIntrospection(client, tokens.access_token)).toEqual({ active: false })
    await expect(oidc.fetchUserInfo(client, tokens.access_token, subject)).rejects.toThrow()
    const refreshed = await oidc.refreshTokenGrant(client, refreshToken)
    expect((await oidc.fetchUserInfo(client, refreshed.access_token, subject)).sub).toBe(subject)

    await oidc.tokenRevocation(client, refreshToken, { token_type_hint: 'refresh_token' })
    for (const token of [refreshed.access_token, refreshToken])
      expect(await oidc.tokenIntrospection(client, token)).toEqual({ active: false })
    await expect(oidc.refreshTokenGrant(client, refreshToken)).rejects.toMatchObject({ error: 'invalid_grant' })
    await expect(oidc.fetchUserInfo(client, refreshed.access_token, subject)).rejects.toThrow()
  })

  it('a public client revokes, and introspects nothing', async () => {
    const client = await discover(server.issuer, 'app', oidc.None())
    const tokens = await signIn(client, asked)
    await expect(oidc.tokenIntrospection(client, tokens.access_token)).rejects.toMatchObject({
      error: 'invalid_client',
      status: 401,
    })
    await oidc.tokenRevocation(client, tokens.refresh_token ?? '')
    await expect(oidc.fetchUserInfo(client, tokens.access_token, subject)).rejects.toThrow()
  })

  it('a service revokes its own token', async () => {
    const client = await discover(server.issuer, 'service', oidc.ClientSecretBasic(serviceClient.client_secret))
    const { access_token: token } = await oidc.clientCredentialsGrant(client)
    expect(await oidc.tokenIntrospection(client, token)).toMatchObject({ active: true, sub: 'service' })
    await oidc.tokenRevocation(client, token)
    expect(await oidc.tokenIntrospection(client, token)).toEqual({ active: false })
  })
})

describe('introspection and revocation through oauth4webapi', () => {
  it('a resource server reads a signed answer and verifies its signature', async () => {
    const web = await discover(server.issuer, 'web', oidc.ClientSecretBasic(webClient.client_secret))
    const tokens = await signIn(web, { ...asked, resource: api })
    const http = { [oauth.allowInsecureRequests]: true }
    const as = await oauth.processDiscoveryResponse(
      new URL(server.issuer),
      await oauth.discoveryRequest(new URL(server.issuer), http),
    )
    const client: oauth.Client = { client_id: api, introspection_signed_response_alg: 'EdDSA' }
    const authentication = oauth.ClientSecretBasic(apiServer.client_secret)
    const introspect = (token: string) =>
      oauth.introspectionRequest(as, client, authentication, token, { ...http, requestJwtResponse: true })

    const response = await introspect(tokens.access_token)
    const copy = response.clone()
    expect(await oauth.processIntrospectionResponse(as, client, response)).toMatchObject({
      active: true,
      aud: api,
      sub: subject,
      client_id: 'web',
    })
    await oauth.validateApplicationLevelSignature(as, response, http)
    const keys = createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`))
    const verified = await jwtVerify(await copy.text(), keys, {
      issuer: server.issuer,
      audience: api,
      typ: 'token-introspection+jwt',
      algorithms: ['EdDSA'],
    })
    expect(verified.protectedHeader.kid).toBe('answers')

    const inactive = await introspect(tokens.id_token ?? '')
    expect(await oauth.processIntrospectionResponse(as, client, inactive)).toEqual({ active: false })

    const own: oauth.Client = { client_id: 'web' }
    const secret = oauth.ClientSecretBasic(webClient.client_secret)
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(as, own, secret, tokens.refresh_token ?? '', http),
    )
    expect(await oauth.processIntrospectionResponse(as, client, await introspect(tokens.access_token))).toEqual({
      active: false,
    })
  })
})
