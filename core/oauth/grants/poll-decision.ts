import { OAuthError, type ErrorCode } from '../errors.js'
import type { Grant, GrantDecision, GrantRequest, Redeemable } from './grant.js'
import type { DeviceCode, DevicePoll } from '../../storage/ports.js'

/**
 * The codes that a client polls with until a person has decided, as a grant type sees them. Both methods throw
 * `Unavailable`.
 */
export interface PolledCodes<Request> {
  /** Returns what the code stands for; undefined when it is malformed, unknown, forgotten, or used and revoked. */
  find(code: string): Promise<DeviceCode<Request, Grant> | undefined>
  /** Counts one poll. `early`: the caller has to wait longer (RFC 8628 §3.5). */
  poll(code: string): Promise<DevicePoll<Request, Grant>>
}

/** The parameter that carries the code, which is also the kind that the core redeems it as. */
export type PolledParameter = 'device_code' | 'auth_req_id'

const refuse = (code: ErrorCode, description: string, reason = description): never => {
  throw new OAuthError(code, description, { reason })
}

const texts = {
  device_code: { missing: 'The parameter device_code is missing.', name: 'The device code' },
  auth_req_id: { missing: 'The parameter auth_req_id is missing.', name: 'The auth_req_id' },
} as const

/**
 * Answers a poll with the person's decision (RFC 8628 §3.5, OpenID CIBA Core §11). Throws `authorization_pending`,
 * `slow_down`, `expired_token`, `access_denied`, `invalid_grant`, `invalid_target`, `invalid_scope`,
 * `invalid_request` and `Unavailable`.
 */
export const decidePoll = async (
  codes: PolledCodes<{ readonly clientId: string }>,
  request: GrantRequest,
  parameter: PolledParameter,
): Promise<GrantDecision> => {
  const { client, params, scope, resource } = request
  const { missing, name } = texts[parameter]
  const invalid = (reason: string): never =>
    refuse('invalid_grant', `${name} is invalid, revoked or was already used.`, reason)
  const code = params.get(parameter)
  if (code === undefined) return refuse('invalid_request', missing)
  const known = (await codes.find(code)) ?? invalid('unknown code')
  // The client is checked before the poll is counted, so that no other client makes the owner wait (RFC 8628 §5.2).
  if (known.request.clientId !== client.client_id) invalid('code of another client')
  const poll = await codes.poll(code)
  if (poll.outcome === 'unknown') return invalid('code was forgotten')
  if (poll.outcome === 'early') return refuse('slow_down', 'Wait five more seconds between polls.')
  const { state, approval } = poll.code
  if (state === 'expired') return refuse('expired_token', `${name} has expired.`)
  if (state === 'denied') return refuse('access_denied', 'The user denied access.')
  // A code that was already redeemed continues as well, because the core has to learn of its second use.
  if (approval === undefined) return refuse('authorization_pending', 'The user has not decided yet.')
  if (!resource.every((target) => approval.resource.includes(target)))
    return refuse('invalid_target', 'The resource is not part of the authorization.')
  if (!scope.every((one) => approval.scope.includes(one)))
    return refuse('invalid_scope', 'The scope exceeds the authorization.')
  const redeem: Redeemable = { kind: parameter, code }
  return {
    subject: approval.subject,
    scope: approval.scope.filter((one) => client.scope.includes(one)),
    audience: resource.length > 0 ? resource : approval.resource,
    authentication: approval.authentication,
    idToken: true,
    refresh: true,
    grant: approval,
    redeem,
  }
}
