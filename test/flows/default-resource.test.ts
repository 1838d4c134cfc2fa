import * as oidc from 'openid-client'
import { expect, it } from 'vitest'
import { person, redirectUri, startServer, webClient } from '../support/server.js'
import { UserAgent } from '../support/user-agent.js'

it('a client may name the default audience at the token endpoint alone (RFC 8707 §2.2)', async () => {
  await using server = await startServer()
  const client = await oidc.discovery(
    new URL(server.issuer),
    webClient.client_id,
    undefined,
    oidc.ClientSecretBasic(webClient.client_secret),
    {
      execute: [oidc.allowInsecureRequests],
    },
  )
  const signIn = async (parameters: Record<string, string>, verifier = oidc.randomPKCECodeVerifier()) => {
    const url = oidc.buildAuthorizationUrl(client, {
      redirect_uri: redirectUri,
      scope: 'openid offline_access',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const callback = await new UserAgent().authorize(url, person)
    return oidc.authorizationCodeGrant(client, callback, { pkceCodeVerifier: verifier }, parameters)
  }
  const tokens = await signIn({ resource: server.issuer })
  const refreshed = await oidc.refreshTokenGrant(client, tokens.refresh_token ?? '', { resource: server.issuer })
  expect(refreshed.access_token).toBeTypeOf('string')
  await expect(signIn({ resource: 'https://api.example' })).rejects.toMatchObject({ error: 'invalid_target' })
})
