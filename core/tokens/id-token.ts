import type { JsonObject } from '../json.js'
import { algorithms } from '../jose/algorithms.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { Account } from '../oauth/subjects/account.js'
import type { Client } from '../oauth/clients/client.js'
import type { GrantDecision } from '../oauth/grants/grant.js'
import { requestedNames } from './claims.js'
import { findTooLarge } from './fit-claims.js'
import { concealPeople } from './people-in-claims.js'
import { accessTokenHash, idTokenClaims, idTokenProfile } from './profiles.js'
import { newJti, type TokenFrame, type TokenSettings } from './token-frame.js'

/** The content of an ID token before it is signed, without the hash of its access token. */
export interface PreparedIdToken {
  readonly claims: JsonObject
  /** The claims that were requested but left out because the token would be too long. */
  readonly dropped: readonly string[]
}

/** Returns the algorithm of a client's ID tokens. */
export const idTokenAlgOf = (client: Client, { idTokenAlg }: Pick<TokenSettings, 'idTokenAlg'>): JwsAlg =>
  client.id_token_signed_response_alg ?? idTokenAlg

/**
 * Builds the claims of an ID token (OIDC Core §2), or returns undefined where the client gets none. Throws
 * `invalid_request` as for an access token.
 */
export const prepareIdToken = (
  settings: TokenSettings,
  { client, scope, issuedAt, left, grantId, requestedClaims }: TokenFrame,
  { idToken: isWanted, authentication, subject }: GrantDecision,
  account: Account | undefined,
): PreparedIdToken | undefined => {
  if (!isWanted || authentication === undefined || !scope.includes('openid')) return undefined
  const { issuer, releases, subjects, ring } = settings
  const clientId = client.client_id
  const further = releases.pick(account?.claims ?? {}, [
    ...requestedNames(requestedClaims, 'id_token'),
    ...(client.include_claims_in_id_token === true ? releases.ofScopes(scope) : []),
    ...releases.added('id_token', { clientId, scope }),
  ])
  const open = idTokenClaims({
    issuer,
    subject,
    clientId,
    issuedAt,
    expiresAt: issuedAt + Math.min(settings.idTokenTtl, left),
    jti: newJti(grantId),
    authentication,
    further,
  })
  const claims = concealPeople(client, open, subjects, settings.sealIdTokens === true ? 'sealed' : 'unsealed')
  if (Object.keys(further).length === 0) return { claims, dropped: [] }
  const alg = idTokenAlgOf(client, settings)
  const at_hash = accessTokenHash('', algorithms[alg].accessTokenHash)
  const dropped = findTooLarge(ring, idTokenProfile, alg, { ...claims, at_hash }, further)
  return { claims: Object.fromEntries(Object.entries(claims).filter(([name]) => !dropped.includes(name))), dropped }
}
