import type { Account, AccountLookup } from '../../oauth/subjects/account.js'
import {
  narrowAuthorizationDetails,
  type AuthorizationDetailsTypes,
} from '../../oauth/requests/authorization-details.js'
import { OAuthError } from '../../oauth/errors.js'
import { bindGrant, familyConstraint } from '../../oauth/grants/grant-binding.js'
import type { GrantDecision } from '../../oauth/grants/grant.js'
import { runGrant } from '../../oauth/grants/run-grant.js'
import type { PreparedTokens } from '../../tokens/issuer.js'
import type { TokenRequest } from './request.js'

export interface DecideOptions {
  /** Absent if nobody signs in. */
  readonly accounts?: AccountLookup | undefined
  readonly defaultAudience: string
  readonly detailsTypes: AuthorizationDetailsTypes
}

/** Narrows authorization details to those that the request names (RFC 9396 §6). */
const narrowDetails = async (
  decision: GrantDecision,
  { client, authorizationDetails: asked, signal }: TokenRequest,
  { detailsTypes: types, defaultAudience }: DecideOptions,
): Promise<GrantDecision> => {
  const { authorizationDetails: granted = decision.grant?.authorizationDetails, ...others } = decision
  if (asked === undefined && granted === undefined) return decision
  const audience = decision.audience ?? decision.grant?.resource ?? []
  const details = await narrowAuthorizationDetails(
    asked,
    granted ?? [],
    audience.length === 0 ? [defaultAudience] : audience,
    { client, types, defaultAudience, signal },
  )
  return { ...others, ...(details && { authorizationDetails: details }) }
}

/** A deleted account gets nothing more (OIDC Core §16). For an account that needs no read, `redeem` checks that. */
const accountOf = async (
  { authentication, subject }: GrantDecision,
  accounts: AccountLookup | undefined,
  signal: AbortSignal,
): Promise<Account | undefined> => {
  if (authentication === undefined) return undefined
  const account = accounts?.peek?.(subject) ?? (await accounts?.find(subject, signal))
  if (account !== undefined) return account
  throw new OAuthError('invalid_grant', 'The grant is invalid, expired, revoked or was already used.', {
    reason: 'the account is gone or disabled',
  })
}

/** Lets the grant decide, binds the decision to the client and its key, and finds the account. */
export const createDecide =
  (options: DecideOptions) =>
  async (
    request: TokenRequest,
  ): Promise<{ readonly decision: GrantDecision; readonly account: Account | undefined }> => {
    const { client, handler, asked, constraint, instanceJkt, signal } = request
    const decided = await runGrant(handler, asked)
    const bound = bindGrant(decided, client, constraint, instanceJkt)
    const decision = await narrowDetails(bound, request, options)
    return { decision, account: await accountOf(decision, options.accounts, signal) }
  }

/** Gives a grant without a record, as deployers' grants are, one that its refresh tokens continue. */
export const withGrant = (
  decision: GrantDecision,
  { client, subject, scope, audience, grantId }: PreparedTokens,
  { constraint, instanceJkt }: TokenRequest,
): GrantDecision => {
  const { grant, authentication, requestedClaims, authorizationDetails } = decision
  if (grant !== undefined || authentication === undefined) return decision
  const continued = { grantId, clientId: client.client_id, subject, scope, resource: audience, authentication }
  const bound = familyConstraint(client, constraint)
  return {
    ...decision,
    grant: {
      ...continued,
      ...(requestedClaims && { requestedClaims }),
      ...(authorizationDetails && { authorizationDetails }),
      ...(bound && { constraint: bound }),
      ...(instanceJkt !== undefined && { instanceJkt }),
    },
  }
}
