import type { AuthorizationRequest } from './authorization-request.js'
import { narrowDetails, type AuthorizationDetail, type DetailsRules } from './authorization-details.js'
import { filterClaims, personalClaims } from './claims-parameter.js'
import { OAuthError } from '../errors.js'
import { scopeToAllow } from './scope.js'

/** The part of a request that a person allows. Anything that it does not name is not granted. */
export interface GrantedConsent {
  readonly scope: readonly string[]
  /** Names of personal claims (OIDC Core §5.5). */
  readonly claims: readonly string[]
  readonly authorizationDetails: readonly AuthorizationDetail[]
}

const refuseScope = (description: string): never => {
  throw new OAuthError('invalid_scope', description)
}

/**
 * Returns the request as far as the person has allowed it. `openid` stays, as on the core's own page, and so do the
 * resources, which no scope requests. Details are equal to the requested ones, or less (RFC 9396 §6). Throws
 * `invalid_scope`, `invalid_request` or `invalid_authorization_details` when more than the request or nothing at all
 * is allowed, and what `check` of a type throws.
 */
export const narrowRequest = async (
  request: AuthorizationRequest,
  granted: GrantedConsent,
  rules: DetailsRules,
): Promise<AuthorizationRequest> => {
  const { scope, offline, requestedClaims, authorizationDetails: askedDetails, ...others } = request
  const asked = scopeToAllow(request)
  const claims = personalClaims(requestedClaims)
  if (!granted.scope.every((one) => asked.includes(one))) refuseScope('The scope has more than was asked for.')
  if (asked.includes('openid') && !granted.scope.includes('openid'))
    refuseScope('The scope openid cannot be left out. To grant nothing, refuse.')
  if (!granted.claims.every((one) => claims.includes(one)))
    throw new OAuthError('invalid_request', 'The claims are more than was asked for.')
  const details = await narrowDetails(granted.authorizationDetails, askedDetails ?? [], rules)
  if (granted.scope.length + details.length === 0 && asked.length + (askedDetails ?? []).length > 0)
    refuseScope('The answer grants nothing. To grant nothing, refuse.')
  return {
    ...others,
    scope: scope.filter((one) => granted.scope.includes(one)),
    ...(offline && granted.scope.includes('offline_access') && { offline }),
    ...(requestedClaims && {
      requestedClaims: filterClaims(requestedClaims, (name) => granted.claims.includes(name)),
    }),
    ...(details.length > 0 && { authorizationDetails: details }),
  }
}
