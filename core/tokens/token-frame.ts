import { epochSeconds, type Clock } from '../clock.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyRing } from '../keys/ports.js'
import type { Client } from '../oauth/clients/client.js'
import { OAuthError } from '../oauth/errors.js'
import { newGrantId } from '../oauth/grants/grant-id.js'
import type { GrantDecision } from '../oauth/grants/grant.js'
import type { Subjects } from '../oauth/subjects/subjects.js'
import { newOpaqueToken } from '../opaque-token.js'
import type { ClaimReleases } from './claim-releases.js'
import { checkAudience, narrowScope, type Resource } from './within-registration.js'

/** The settings that apply to all tokens of an issuer. */
export interface TokenSettings {
  readonly issuer: string
  readonly ring: KeyRing
  readonly clock: Clock
  readonly accessTokenAlg: JwsAlg
  readonly idTokenAlg: JwsAlg
  /** The lifetime of access tokens in seconds. */
  readonly accessTokenTtl: number
  /** The lifetime of ID tokens in seconds. */
  readonly idTokenTtl: number
  readonly defaultAudience: string
  readonly releases: ClaimReleases
  readonly resources: ReadonlyMap<string, Resource>
  /** Computes the `sub` by which each client knows a person. */
  readonly subjects: Subjects
  /** True when ID tokens may be exchanged, so that their subjects must be recoverable. The default is false. */
  readonly sealIdTokens?: boolean
}

/** The members that the tokens of one decision share. Times are seconds since the epoch. */
export interface TokenFrame {
  readonly client: Client
  readonly scope: readonly string[]
  readonly audience: readonly string[]
  readonly issuedAt: number
  /** The expiry of the access token. */
  readonly expiresAt: number
  /** The seconds until the grant ends. */
  readonly left: number
  readonly grantId: string
  /** The `jti` of the access token. */
  readonly jti: string
  readonly requestedClaims: GrantDecision['requestedClaims']
}

/** A token names the grant that it came from, so that ending the grant ends it. */
export const newJti = (grantId: string): string => `${grantId}.${newOpaqueToken().slice(0, 22)}`

/**
 * Limits a decision to the client's registration. Throws `invalid_target`, `invalid_scope`, and `invalid_grant` for a
 * grant that has ended.
 */
export const frameTokens = (
  { clock, resources, releases, accessTokenTtl, defaultAudience }: TokenSettings,
  client: Client,
  decision: GrantDecision,
): TokenFrame => {
  const audience = decision.audience?.length ? decision.audience : [defaultAudience]
  checkAudience(audience, client, defaultAudience)
  const scope = narrowScope(decision.scope, client, audience, resources)
  const issuedAt = epochSeconds(clock)
  const left = (decision.notAfter ?? Infinity) - issuedAt
  if (left < 1) throw new OAuthError('invalid_grant', 'The grant has expired.')
  const ttls = audience.map((name) => resources.get(name)?.access_token_ttl_secs ?? accessTokenTtl)
  const jtiOnly = () => (decision.authentication ? newGrantId(clock) : newOpaqueToken().slice(0, 22))
  const grantId = decision.grant?.grantId ?? decision.grantId ?? jtiOnly()
  return {
    ...{ client, scope, audience, issuedAt, left, grantId },
    expiresAt: issuedAt + Math.min(...ttls, left),
    jti: newJti(grantId),
    // A plugin or an earlier registration may have requested claims that the client may no longer get.
    requestedClaims: decision.requestedClaims && releases.releasable(decision.requestedClaims, client),
  }
}
