import { OAuthError, type GrantDecision, type GrantRequest } from '../../../core/api/index.js'
import type { ShownAttestations } from '../../../core/api/attestation.js'
import { accessTokenType } from '../../../core/api/internal.js'
import type { Rights } from './options.js'
import { refuse } from './subject.js'

/** The token type of this issuer's attestations as subject tokens. */
export const attestationType = 'urn:signet:params:oauth:token-type:attestation'

/** The scope is limited by the policy for this type of principal, and by the client's registration. */
const narrowScope = ({ client, scope }: GrantRequest, allowed: readonly string[]): readonly string[] => {
  if (!scope.every((name) => allowed.includes(name)))
    throw new OAuthError('invalid_scope', 'The scope exceeds what the attestation gives.')
  return (scope.length > 0 ? scope : allowed).filter((name) => client.scope.includes(name))
}

/**
 * Issues an access token for an enrolled device or service, bound to its key: the request must have a DPoP proof by
 * the attested key. Throws `invalid_request`, `invalid_grant` for a revoked principal, `invalid_scope`,
 * `Unavailable`.
 */
export const exchangeAttestation = async (
  attestations: ShownAttestations,
  rights: Rights,
  token: string,
  request: GrantRequest,
): Promise<GrantDecision> => {
  const { attestation_scope: policy } = rights
  if (policy.device === undefined && policy.service === undefined) refuse('the client may show no attestation')
  // A caller without the key must not cause a query to the status provider.
  const jkt = request.constraint?.jkt ?? refuse('an attestation without a DPoP proof')
  const presented =
    (await attestations.verify(token, jkt, request.signal)) ?? refuse('not a valid attestation of this key')
  const { principal, expiresAt } = presented
  const allowed =
    policy[principal.principalType] ?? refuse('the client may show no attestation of this type of principal')
  return {
    subject: principal.subject,
    scope: narrowScope(request, allowed),
    audience: [...new Set([...request.resource, ...request.audience])],
    claims: { did: principal.principalId, principal_type: principal.principalType },
    notAfter: expiresAt,
    issuedTokenType: accessTokenType,
  }
}
