import type { z } from 'zod'
import { parseStrictJsonObject } from '../../../libraries/wire/strict-json.js'
import { OAuthError } from '../../oauth/errors.js'
import type { ParameterList } from '../../oauth/requests/params.js'
import type { AuditEventName } from '../../observe/audit.js'
import type { Declaration } from '../endpoint.js'
import { json, jsonText, type EndpointRequest, type Handler, type Reply } from '../message.js'

/**
 * The permission that a caller needs. `none` is open to everybody who reaches the listener; `handoff.answer` has credentials
 * of its own where `admin.handoff` configures them.
 */
export type Permission = 'none' | 'service.read' | 'configuration.reload' | 'handoff.answer'

/** All that others need to know of a route of the admin listener: its guards, its limit, the forwarder of workers, documentation. */
export interface AdminDeclaration<Input = unknown, Output = unknown> extends Pick<Declaration, 'path' | 'body'> {
  readonly methods: readonly ['GET' | 'POST' | 'PUT' | 'DELETE']
  readonly permission: Permission
  /** Requests a minute that one address may send; `none` for what monitoring and balancers ask. */
  readonly limit: number | 'none'
  /** The audit event that records what the route changed; absent: it changes nothing. */
  readonly event?: AuditEventName
  /** The members of the form or JSON body; of a GET the query. Absent: they are not looked at. */
  readonly input?: z.ZodType<Input>
  /** The JSON of an answer that is no error. Absent: the answer is not JSON. */
  readonly output?: z.ZodType<Output>
}

/** A route of the admin listener that can answer. */
export interface AdminEndpoint extends AdminDeclaration {
  readonly answer: Handler
}

/** An answer before it is written; `text` is its JSON where that is laid out for people. */
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

/** The input by its schema. Throws `invalid_request`. */
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

/** A route that reads its input by its schema and answers JSON. */
export const answeringJson =
  <Input, Output>(declaration: AdminDeclaration<Input, Output>, handler: AdminHandler<Input, Output>): Handler =>
  async (request): Promise<Reply> => {
    const { status = 200, data, text } = await handler(readInput(declaration, request), request)
    return text === undefined ? json(status, data) : jsonText(status, text)
  }
