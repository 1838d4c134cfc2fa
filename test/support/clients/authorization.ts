import * as oidc from 'openid-client'
import { person, redirectUri } from '../server/server.js'
import { UserAgent } from './user-agent.js'

/** openid-client as this client. With `alg`, ID tokens have to be signed with it, and their signatures are verified. */
export const discover = (issuer: string, clientId: string, authentication: oidc.ClientAuth, alg?: string) =>
  oidc.discovery(new URL(issuer), clientId, alg && { id_token_signed_response_alg: alg }, authentication, {
    execute: [oidc.allowInsecureRequests, ...(alg === undefined ? [] : [oidc.enableNonRepudiationChecks])],
  })

/** An authorization URL of openid-client for everything about a person, and what its answer is checked against. */
export const newAuthorization = async (client: oidc.Configuration) => {
  const verifier = oidc.randomPKCECodeVerifier()
  const checks = { pkceCodeVerifier: verifier, expectedState: oidc.randomState(), expectedNonce: oidc.randomNonce() }
  const url = oidc.buildAuthorizationUrl(client, {
    redirect_uri: redirectUri,
    scope: 'openid profile email offline_access',
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: checks.expectedState,
    nonce: checks.expectedNonce,
  })
  return { url, checks }
}

/** The code flow with PKCE, to its tokens. `asked` is for the authorization endpoint, `shown` for the token endpoint. */
export const signIn = async (
  client: oidc.Configuration,
  asked: Readonly<Record<string, string>> = {},
  shown: Readonly<Record<string, string>> = {},
) => {
  const verifier = oidc.randomPKCECodeVerifier()
  const url = oidc.buildAuthorizationUrl(client, {
    redirect_uri: redirectUri,
    scope: 'openid offline_access',
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...asked,
  })
  const callback = await new UserAgent().authorize(url, person)
  return oidc.authorizationCodeGrant(client, callback, { pkceCodeVerifier: verifier }, shown)
}
