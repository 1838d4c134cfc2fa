import type { Clock } from '../clock.js'
import type { AdminDeclaration, OperatorHandler } from '../endpoints/admin/admin-endpoint.js'
import { redirect, type EndpointRequest, type Handler } from '../endpoints/message.js'
import { OAuthError } from '../oauth/errors.js'
import type { AuthenticateOperator } from '../operators/authenticate.js'
import type { OperatorIdentity } from '../operators/operator.js'
import type { Permission } from '../operators/permissions.js'
import { signInPath } from '../operators/site.js'
import { createMinuteLimit } from './minute-limit.js'

/** A request that was refused because of its sender. `operator` is absent when none has authenticated. */
export interface RefusedOperator {
  readonly operator?: OperatorIdentity
  readonly permission: Permission | 'operator'
  /** The path of the route, which has no id. */
  readonly route: string
  readonly reason: string
}

export interface OperatorGuardOptions {
  readonly authenticate: AuthenticateOperator
  readonly clock: Clock
  /** The path of `admin.base_url`, before every link. */
  readonly basePath: string
  /** Records a refusal in the audit log. Throws `Unavailable` for an operator whose refusal cannot be recorded. */
  readonly record: (request: EndpointRequest, refused: RefusedOperator) => Promise<void>
}

/** Admits operators with the permission of an endpoint, and passes the operator on. Throws `OAuthError`. */
export type OperatorGuard = (
  declaration: AdminDeclaration & { readonly permission: Permission | 'operator' },
  answer: OperatorHandler,
) => Handler

/** Requests of one operator in a minute: far more than people send, and few enough to leave the service its time. */
const perMinute = 1200

/** Creates the guard of all routes that need an operator. */
export const createOperatorGuard = ({ authenticate, clock, basePath, record }: OperatorGuardOptions): OperatorGuard => {
  const countRequest = createMinuteLimit(perMinute, clock)

  return ({ path: route, permission, errorTitle }, answer) => {
    const isPage = errorTitle !== undefined
    return async (request) => {
      const operator = await authenticate(request, route)
      // A browser sends its cookie by itself, so the cookie opens pages and reads; a program has a credential of its own.
      const isEnough = operator?.csrf === undefined || isPage || request.method === 'GET'
      if (operator === undefined || !isEnough) {
        if (isPage) return redirect(`${basePath}${signInPath}`)
        await record(request, { permission, route, reason: 'no valid credential' })
        throw new OAuthError('invalid_token', 'The request has no valid credential of an operator.', {
          headers: { 'WWW-Authenticate': 'Bearer' },
        })
      }
      countRequest(operator.name)
      if (permission !== 'operator' && !operator.permissions.has(permission)) {
        await record(request, { operator, permission, route, reason: 'the permission is missing' })
        throw new OAuthError('access_denied', 'This needs a permission that the operator does not have.', {
          status: 403,
          reason: `the permission ${permission} is missing`,
        })
      }
      return answer(request, operator)
    }
  }
}
