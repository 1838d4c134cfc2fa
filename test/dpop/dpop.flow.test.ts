import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  person,
  publicClient,
  redirectUri,
  startServer,
  subject,
  webClient,
  type TestServer,
} from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'

let server: TestServer
beforeAll(async () => {
  const bound = { dpop_bound_access_tokens: true }
  server = await startServer({
    configure: (written) => ({
      ...written,
      clients: [
        { ...webClient, ...bound },
        { ...publicClient, ...bound },
      ],
    }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const scope = 'openid profile email offline_access'

const kinds = [
  ['a confidential client', webClient.client_id, oidc.ClientSecretBasic(webClient.client_secret)],
  ['a public client', publicClient.client_id, oidc.None()],
] as const

describe.each(kinds)('DPoP with nonces through openid-client, %s', (_kind, clientId, authentication) => {
  it.each(['ES256', 'PS256'])('code flow with dpop_jkt, userinfo and refresh, %s', async (alg) => {
    const metadata = { id_token_signed_response_alg: 'ES256' }
    const execute = [oidc.allowInsecureRequests]
    const client = await oidc.discovery(new URL(server.issuer), clientId, metadata, authentication, { execute })
    expect(client.serverMetadata().dpop_signing_alg_values_supported).toContain('ES256')
    const DPoP = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair(alg))
    const verifier = oidc.randomPKCECodeVerifier()
    const url = oidc.buildAuthorizationUrl(client, {
      redirect_uri: redirectUri,
      scope,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      dpop_jkt: await DPoP.calculateThumbprint(),
    })
    const callback = await new UserAgent().authorize(url, person)
    const checks = { pkceCodeVerifier: verifier }
    const tokens = await oidc.authorizationCodeGrant(client, callback, checks, undefined, { DPoP })
    expect(tokens.token_type).toBe('dpop')
    expect(decodeJwt(tokens.access_token)['cnf']).toEqual({ jkt: await DPoP.calculateThumbprint() })
    const claims = await oidc.fetchUserInfo(client, tokens.access_token, subject, { DPoP })
    expect(claims.email).toBe('alice@bank.example')

    const refreshed = await oidc.refreshTokenGrant(client, tokens.refresh_token ?? '', undefined, { DPoP })
    expect(refreshed.token_type).toBe('dpop')
    expect((await oidc.fetchUserInfo(client, refreshed.access_token, subject, { DPoP })).sub).toBe(subject)

    // Another key: the refresh token of a public client is bound to the first, that of a confidential one to its secret.
    const other = oidc.getDPoPHandle(client, await oidc.randomDPoPKeyPair(alg))
    const token = refreshed.refresh_token ?? tokens.refresh_token ?? ''
    const again = oidc.refreshTokenGrant(client, token, undefined, { DPoP: other })
    if (clientId === publicClient.client_id) await expect(again).rejects.toMatchObject({ error: 'invalid_grant' })
    else expect(decodeJwt((await again).access_token)['cnf']).toEqual({ jkt: await other.calculateThumbprint() })
  })
})

it('code flow, userinfo and refresh through oauth4webapi, which learns each nonce', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true }
  const issuer = new URL(server.issuer)
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure))
  const client: oauth.Client = { client_id: webClient.client_id, id_token_signed_response_alg: 'ES256' }
  const secret = oauth.ClientSecretBasic(webClient.client_secret)
  const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('ES256'))
  const options = { ...insecure, DPoP }
  const verifier = oauth.generateRandomCodeVerifier()
  const url = new URL(as.authorization_endpoint ?? '')
  const challenge = await oauth.calculatePKCECodeChallenge(verifier)
  url.search = new URLSearchParams({
    ...{ client_id: client.client_id, redirect_uri: redirectUri, response_type: 'code', scope },
    ...{ code_challenge: challenge, code_challenge_method: 'S256' },
  }).toString()
  const answer = oauth.validateAuthResponse(as, client, await new UserAgent().authorize(url, person))
  const exchange = () => oauth.authorizationCodeGrantRequest(as, client, secret, answer, redirectUri, verifier, options)

  // The handle keeps the nonce of the refusal, so the same call made again has it.
  const first = await exchange()
  const error = await oauth.processAuthorizationCodeResponse(as, client, first).catch((caught: unknown) => caught)
  expect(oauth.isDPoPNonceError(error)).toBe(true)
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, await exchange())
  expect(tokens.token_type).toBe('dpop')

  const userinfo = await oauth.userInfoRequest(as, client, tokens.access_token, options)
  expect((await oauth.processUserInfoResponse(as, client, subject, userinfo)).sub).toBe(subject)
  const refresh = await oauth.refreshTokenGrantRequest(as, client, secret, tokens.refresh_token ?? '', options)
  expect((await oauth.processRefreshTokenResponse(as, client, refresh)).token_type).toBe('dpop')
})
