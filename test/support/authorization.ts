import * as oidc from 'openid-client'
import { redirectUri } from './server.js'

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
