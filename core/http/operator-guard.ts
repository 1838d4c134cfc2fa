import type { Clock } from '../clock.js'
import type { AdminDeclaration, OperatorHandler } from '../endpoints/admin/admin-endpoint.js'
import type { EndpointRequest, Handler } from '../endpoints/message.js'
import { OAuthError } from '../oauth/errors.js'
import type { AuthenticateOperator } from '../operators/authenticate.js'
import type { OperatorIdentity } from '../operators/operator.js'
import type { Permission } from '../operators/permissions.js'
import { createMinuteLimit } from './minute-limit.js'

/** A request that was refused because of its sender. `operator` is absent when none has authenticated. */
export interface RefusedOperator {
  readonly operator?: OperatorIdentity
  readonly permission: Permission
  /** The path of the route, which has no id. */
  readonly route: string
  readonly reason: string
}

export interface OperatorGuardOptions {
  readonly authenticate: AuthenticateOperator
  readonly clock: Clock
  /** Records a refusal in the audit log. Throws `Unavailable` for an operator whose refusal cannot be recorded. */
  readonly record: (request: EndpointRequest, refused: RefusedOperator) => Promise<void>
}

/** Admits operators with the permission of an endpoint, and passes the operator on. Throws `OAuthError`. */
export type OperatorGuard = (
  declaration: AdminDeclaration & { readonly permission: Permission },
  answer: OperatorHandler,
) => Handler

/** Requests of one operator in a minute: far more than people send, and few enough to leave the service its time. */
const perMinute = 1200

/** Creates the guard of all routes that need an operator. */
export const createOperatorGuard = ({ authenticate, clock, record }: OperatorGuardOptions): OperatorGuard => {
  const countRequest = createMinuteLimit(perMinute, clock)

  return ({ path: route, permission }, answer) =>
    async (request) => {
      const operator = await authenticate(request)
      if (operator === undefined) {
        await record(request, { permission, route, reason: 'no valid credential' })
        throw new OAuthError('invalid_token', 'The request has no valid credential of an operator.', {
          headers: { 'WWW-Authenticate': 'Bearer' },
        })
      }
      countRequest(operator.name)
      if (!operator.permissions.has(permission)) {
        await record(request, { operator, permission, route, reason: 'the permission is missing' })
        throw new OAuthError('access_denied', 'This needs a permission that the operator does not have.', {
          status: 403,
          reason: `the permission ${permission} is missing`,
        })
      }
      return answer(request, operator)
    }
}
