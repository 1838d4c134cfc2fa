import type { z } from 'zod'
import type { Administration, Operator } from '../administration/administration.js'
import type { SearchedLog } from '../administration/audit.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import type { EndpointRequest } from '../endpoints/message.js'
import type { OperatorIdentity } from '../operators/operator.js'
import type { OperatorParts } from '../operators/operator-parts.js'
import type { Permission } from '../operators/permissions.js'
import type { PasswordHasher } from '../administration/account-changes.js'
import type { Cursors } from './lists.js'
import type { Repetitions } from './repetitions.js'
import type { RunningService } from './running-service.js'

/** The path below which all routes of the API are. */
export const apiPath = '/api/v1'

/** A route of the API as its checks, the documentation and the generated client read it. */
export interface ApiDeclaration<Query, Body, Output> {
  /** Below `apiPath`. `{name}` stands for one segment, percent-encoded. */
  readonly path: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** `operator`: every operator may, whatever the roles. */
  readonly permission: Permission | 'operator'
  /** The name of the operation in the generated client. Each exists once. */
  readonly operation: string
  /** The section of the reference. */
  readonly tag: string
  /** One sentence. */
  readonly summary: string
  /** The schema of the query, whose members are texts before it reads them. Absent: there are no parameters. */
  readonly query?: z.ZodType<Query>
  /** The schema of the JSON body. Absent: there is none. */
  readonly body?: z.ZodType<Body>
  /** The schema of the body for the documentation, where a part of the core checks more than `body` does. */
  readonly documentedBody?: z.ZodType
  /** The schema of the answer; members that it does not name are not sent. Absent: there is no content (204). */
  readonly output?: z.ZodType<Output>
  /** The status of success. Absent: 200, or 204 without `output`. */
  readonly status?: 201 | 202
  /** The request needs `If-Match` with the `ETag` of the object (RFC 9110 §13.1.1): 428 without it, 412 for another. */
  readonly conditional?: true
  /** The request may carry `Idempotency-Key`: a repetition gets the first answer for 24 hours. */
  readonly idempotent?: true
}

/** The parts of a service that the routes of the API work with. */
export interface ApiParts extends Administration, SearchedLog {
  /** The configuration in force, with its modules. */
  readonly checked: CheckedConfiguration
  readonly running: RunningService
  readonly operators: OperatorParts
  /** The path of `admin.base_url`, before every path of the API. */
  readonly base: string
  readonly cursors: Cursors
  readonly repetitions: Repetitions
  readonly passwords: PasswordHasher
}

/** One request, after its checks. */
export interface ApiCall<Query, Body> {
  readonly query: Query
  readonly body: Body
  readonly path: (name: string) => string
  readonly operator: OperatorIdentity
  /** The operator as the audit log names it. */
  readonly by: Operator
  /** The deployment in force; its audit lines have the id of the request. */
  readonly parts: ApiParts
  /** The `ETag` that the sender has seen; empty unless the route is conditional. */
  readonly ifMatch: string
  readonly request: EndpointRequest
}

export interface ApiAnswer<Output> {
  readonly data: Output
  /** The version of the object, for `ETag`. */
  readonly etag?: string
  /** The path of a created object below `apiPath`. */
  readonly location?: string
}

/** A route with its handler. The handler throws `Problem` for a refusal, and `Unavailable` for an outage. */
export interface ApiRoute extends ApiDeclaration<unknown, unknown, unknown> {
  answer(call: ApiCall<never, never>): Promise<ApiAnswer<unknown>>
}

export const defineApiRoute = <Query = undefined, Body = undefined, Output = undefined>(
  declaration: ApiDeclaration<Query, Body, Output>,
  answer: (call: ApiCall<Query, Body>) => Promise<ApiAnswer<NoInfer<Output>>>,
): ApiRoute => ({ ...declaration, answer })
