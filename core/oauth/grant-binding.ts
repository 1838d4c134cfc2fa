import { isPublicClient, type Client } from './client.js'
import { OAuthError } from './errors.js'
import type { AuthorizationCode, Grant, GrantDecision, SenderConstraint } from './grant.js'

/**
 * Holds what is continued to the key that it is bound to: a code to its `dpop_jkt` (RFC 9449 §10), a public client's refresh
 * token to the key of its first request (§5). Gives the decision back with the grant as its refresh family is to keep it.
 * Throws `invalid_grant`.
 */
export const bindGrant = (
  decision: GrantDecision,
  client: Client,
  constraint: SenderConstraint | undefined,
): GrantDecision => {
  if (decision.grant === undefined) return decision
  const { dpopJkt, ...grant }: Grant & Pick<AuthorizationCode, 'dpopJkt'> = decision.grant
  for (const jkt of [dpopJkt, grant.constraint?.jkt])
    if (jkt !== undefined && jkt !== constraint?.jkt)
      throw new OAuthError('invalid_grant', 'The grant is bound to another key.', {
        reason: constraint?.jkt === undefined ? 'bound to a key, but there is no proof' : 'bound to another key',
      })
  // A confidential client's refresh tokens are bound to its credentials already.
  if (!isPublicClient(client) || constraint?.jkt === undefined) return { ...decision, grant }
  return { ...decision, grant: { ...grant, constraint: { jkt: constraint.jkt } } }
}
