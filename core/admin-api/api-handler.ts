import { hash } from 'node:crypto'
import type { z } from 'zod'
import { parseStrictJsonObject } from '../../libraries/wire/strict-json.js'
import type { OperatorHandler } from '../endpoints/admin/admin-endpoint.js'
import type { EndpointRequest, Reply } from '../endpoints/message.js'
import { formatPath, type Path } from '../format-path.js'
import { actedByOperator, type OperatorIdentity } from '../operators/operator.js'
import { apiPath, type ApiAnswer, type ApiCall, type ApiParts, type ApiRoute } from './api-route.js'
import { AwaitsApproval } from '../administration/require-approval.js'
import { waitingApproval } from './approval-documents.js'
import { Problem, problemReply } from './problem.js'
import { withRequestId } from './with-request-id.js'

const faultsOf = ({ issues }: z.ZodError) =>
  issues.map(({ path, message }) => ({ path: formatPath(path as Path), message }))

/** Parses a query or a body with its schema. Throws `Problem` with each fault and its path. */
const parse = <T>(schema: z.ZodType<T>, value: unknown): T => {
  const read = schema.safeParse(value)
  if (read.success) return read.data
  throw new Problem(400, 'invalid_request', 'The request does not have the members that it must have.', {
    errors: faultsOf(read.error),
  })
}

const readQuery = ({ query }: ApiRoute, { query: { values, repeated } }: EndpointRequest): unknown => {
  if (repeated.size > 0) throw new Problem(400, 'invalid_request', 'A parameter was sent more than once.')
  const given = Object.fromEntries(values)
  if (query !== undefined) return parse(query, given)
  if (values.size > 0) throw new Problem(400, 'invalid_request', 'This route has no parameters.')
  return undefined
}

const readBody = ({ body }: ApiRoute, request: EndpointRequest): unknown => {
  if (body === undefined) return undefined
  const value = request.body?.length ? parseStrictJsonObject(request.body) : {}
  if (value === undefined)
    throw new Problem(400, 'invalid_json', 'The body must be one JSON object without repeated members.')
  return parse(body, value)
}

/** `If-Match: *` and lists of tags are refused, because the sender of either has not seen one version. */
const readIfMatch = ({ conditional }: ApiRoute, request: EndpointRequest): string => {
  if (!conditional) return ''
  const tag = request.header('if-match')
  if (tag === undefined)
    throw new Problem(428, 'precondition_required', 'The request needs If-Match with the ETag of the object.')
  if (!/^"[\w-]{22}"$/.test(tag)) throw new Problem(412, 'changed_meanwhile', 'If-Match is no ETag of this object.')
  return tag
}

const replyOf = (route: ApiRoute, { data, etag, location }: ApiAnswer<unknown>, base: string): Reply => {
  const headers = {
    'Cache-Control': 'no-store',
    ...(etag !== undefined && { ETag: etag }),
    ...(location !== undefined && { Location: `${base}${apiPath}${location}` }),
  }
  if (route.output === undefined) return { status: 204, headers }
  return {
    status: route.status ?? 200,
    headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(route.output.parse(data)),
  }
}

/** The answer for an action that other operators must approve first. Secrets that were made for it are shown now. */
const waitingReply = ({ document, approval, secrets }: AwaitsApproval, base: string): Reply => ({
  status: 202,
  headers: {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    Location: `${base}${apiPath}/approvals/${approval.id}`,
  },
  body: JSON.stringify(
    waitingApproval.parse({
      approval: approval.id,
      missing: document.approvals,
      expires_at: document.expires,
      ...secrets,
    }),
  ),
})

/** An action that waits for approval is an answer like any other: a repetition of its request gets it again. */
const answerOf = async (route: ApiRoute, call: ApiCall<never, never>): Promise<Reply> => {
  const { base } = call.parts
  try {
    return replyOf(route, await route.answer(call), base)
  } catch (error) {
    if (error instanceof AwaitsApproval) return waitingReply(error, base)
    throw error
  }
}

/** Answers the requests of one route of the API, for operators whom the guard has admitted. */
export const createApiHandler =
  (route: ApiRoute, parts: () => ApiParts): OperatorHandler =>
  async (request, operator) => {
    if (operator === undefined) throw new Error('the guard has admitted nobody')
    try {
      const call = callOf(route, request, operator, parts())
      const answer = (): Promise<Reply> => answerOf(route, call)
      if (!route.idempotent) return await answer()
      const [key, digest] = [request.header('idempotency-key'), requestDigest(route, request)]
      return await call.parts.repetitions.once({ key, sender: operator.name, request: digest }, answer)
    } catch (error) {
      if (error instanceof Problem) return problemReply(error, request.requestId)
      throw error
    }
  }

const callOf = (
  route: ApiRoute,
  request: EndpointRequest,
  operator: OperatorIdentity,
  parts: ApiParts,
): ApiCall<never, never> => ({
  query: readQuery(route, request) as never,
  body: readBody(route, request) as never,
  path: (name) => request.path.get(name) ?? '',
  operator,
  by: actedByOperator(operator, { via: 'api', address: request.address }),
  parts: { ...parts, audit: withRequestId(parts.audit, request.requestId) },
  ifMatch: readIfMatch(route, request),
  request,
})

/** A repetition must be the same request. */
const requestDigest = ({ operation }: ApiRoute, { path, query, body }: EndpointRequest): string =>
  hash('sha256', JSON.stringify([operation, [...path], [...query.values], body?.toString('base64')]), 'base64url')
