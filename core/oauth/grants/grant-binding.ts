import { isPublicClient, type Client } from '../clients/client.js'
import { OAuthError } from '../errors.js'
import type { AuthorizationCode, Grant, GrantDecision, SenderConstraint } from './grant.js'

/**
 * Checks that a continued grant is used by the holder that it is bound to. A code is bound to its `dpop_jkt` (RFC
 * 9449 §10), a public client's refresh token to the key (§5) and the certificate (RFC 8705 §4) of its first request,
 * and that of an attested client to the key of the instance (draft-ietf-oauth-attestation-based-client-auth §9.3).
 * Returns the decision with the grant as its refresh family must store it. Throws `invalid_grant`.
 */
export const bindGrant = (
  decision: GrantDecision,
  client: Client,
  constraint: SenderConstraint | undefined,
  instanceJkt?: string,
): GrantDecision => {
  if (decision.grant === undefined) return decision
  const { dpopJkt, ...grant }: Grant & Pick<AuthorizationCode, 'dpopJkt'> = decision.grant
  for (const jkt of [dpopJkt, grant.constraint?.jkt])
    if (jkt !== undefined && jkt !== constraint?.jkt)
      throw new OAuthError('invalid_grant', 'The grant is bound to another key.', {
        reason: constraint?.jkt === undefined ? 'bound to a key, but there is no proof' : 'bound to another key',
      })
  const certificate = grant.constraint?.['x5t#S256']
  if (certificate !== undefined && certificate !== constraint?.['x5t#S256'])
    throw new OAuthError('invalid_grant', 'The grant is bound to another certificate.', {
      reason: 'bound to a certificate that was not shown',
    })
  if (grant.instanceJkt !== undefined && grant.instanceJkt !== instanceJkt)
    throw new OAuthError('invalid_grant', 'The grant is bound to another key.', {
      reason: 'bound to another instance of the client',
    })
  const bound = familyConstraint(client, constraint)
  return {
    ...decision,
    grant: { ...grant, ...(bound && { constraint: bound }), ...(instanceJkt !== undefined && { instanceJkt }) },
  }
}

/**
 * Returns what refresh tokens are bound to (RFC 9449 §5, RFC 8705 §4). Those of a confidential client are already
 * bound to its credentials.
 */
export const familyConstraint = (
  client: Client,
  constraint: SenderConstraint | undefined,
): SenderConstraint | undefined => (isPublicClient(client) ? constraint : undefined)
