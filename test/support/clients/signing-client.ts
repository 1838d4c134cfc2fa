import { assertionClaims, assertionType, newAssertionKey, signAssertion } from './client-assertion.js'

const key = newAssertionKey()

/** A client that authenticates by assertions. */
export const signingClient = {
  client_id: 'signer',
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['client_credentials'],
  scope: 'read',
  jwks: { keys: [key.publicJwk] },
}

/** One that was not seen before. `by` may be another key than the client's. */
export const newAssertion = (
  issuer: string,
  now: number,
  overrides: Readonly<Record<string, unknown>> = {},
  by = key,
): string =>
  signAssertion(by, { alg: by.alg, kid: key.kid }, assertionClaims(signingClient.client_id, issuer, now, overrides))

/** What it sends to `/token`. */
export const signedForm = (client_assertion: string) => ({
  grant_type: 'client_credentials',
  scope: 'read',
  client_assertion_type: assertionType,
  client_assertion,
})
