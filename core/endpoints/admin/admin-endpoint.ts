import type { z } from 'zod'
import { parseStrictJsonObject } from '../../../libraries/wire/strict-json.js'
import { OAuthError } from '../../oauth/errors.js'
import type { ParameterList } from '../../oauth/requests/params.js'
import type { AuditEventName } from '../../observe/audit.js'
import type { OperatorIdentity } from '../../operators/operator.js'
import type { Permission } from '../../operators/permissions.js'
import type { Declaration } from '../endpoint.js'
import { json, jsonText, type EndpointRequest, type Handler, type Reply } from '../message.js'

/**
 * What a caller needs: the permission of an operator, or one of three others. `operator` admits every operator; `none` is open to everyone who reaches the
 * listener; `handoff.answer` has separate credentials if `admin.handoff` configures them.
 */
export type Needed = Permission | 'operator' | 'none' | 'handoff.answer'

/**
 * Everything about a route of the admin listener that its guards, its limit, the forwarder of workers and the
 * documentation need.
 */
export interface AdminDeclaration<Input = unknown, Output = unknown> extends Pick<
  Declaration,
  'path' | 'body' | 'problems' | 'encodedIds' | 'errorTitle'
> {
  readonly methods: readonly ['GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE']
  readonly permission: Needed
  /** Requests per minute and address, or `none` for routes that monitoring and load balancers call. */
  readonly limit: number | 'none'
  /** The audit event that records the change. Absent if the route changes nothing. */
  readonly event?: AuditEventName
  /** Schema of the members of the form or JSON body, or of the query for GET. If absent, they are ignored. */
  readonly input?: z.ZodType<Input>
  /** Schema of successful JSON answers. If absent, the answer is not JSON. */
  readonly output?: z.ZodType<Output>
}

/**
 * Answers one request of an operator. `operator` is absent where `permission` needs none: `none` and `handoff.answer`,
 * and callers on the host or with `admin.token`, whom the routes of the process itself admit.
 */
export type OperatorHandler = (request: EndpointRequest, operator?: OperatorIdentity) => Promise<Reply> | Reply

/** A route of the admin listener with its handler. */
export interface AdminEndpoint extends AdminDeclaration {
  readonly answer: OperatorHandler
}

/** An answer before it is serialised. `text` is its JSON in a layout for people. */
export interface AdminAnswer<Output> {
  readonly status?: number
  readonly data: Output
  readonly text?: string
}

/** Answers one request. Throws `OAuthError` for a refusal, `Unavailable` for an outage. */
export type AdminHandler<Input, Output> = (
  input: Input,
  request: EndpointRequest,
) => Promise<AdminAnswer<Output>> | AdminAnswer<Output>

const refuseInput = ({ path, methods: [method] }: AdminDeclaration): never => {
  throw new OAuthError('invalid_request', `The request is not what ${method} ${path} takes.`)
}

/** Parses the input with its schema. Throws `invalid_request`. */
export const readInput = <Input>(declaration: AdminDeclaration<Input>, request: EndpointRequest): Input => {
  const { input, body } = declaration
  if (input === undefined) return undefined as Input
  const membersOf = ({ values, repeated }: ParameterList) =>
    repeated.size > 0 ? refuseInput(declaration) : Object.fromEntries(values)
  const written =
    body === 'json'
      ? request.body && parseStrictJsonObject(request.body)
      : membersOf(body === 'form' ? request.form : request.query)
  const read = input.safeParse(written)
  return read.success ? read.data : refuseInput(declaration)
}

/** A route that parses its input with its schema and answers JSON. */
export const answeringJson =
  <Input, Output>(declaration: AdminDeclaration<Input, Output>, handler: AdminHandler<Input, Output>): Handler =>
  async (request): Promise<Reply> => {
    const { status = 200, data, text } = await handler(readInput(declaration, request), request)
    return text === undefined ? json(status, data) : jsonText(status, text)
  }
