import { z } from 'zod'
import { build } from '../package-root.js'
import type { JsonObject } from '../json.js'
import { controlled } from '../operators/action.js'
import { waitingApproval } from './approval-documents.js'
import { apiPath, type ApiRoute } from './api-route.js'
import { problemDocument, problemType } from './problem.js'

/** `z.json()` refers to a definition of its own, which is any JSON value: that is the empty schema. */
const withoutDefinitions = (_name: string, value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || !('$ref' in value)) return value
  return String(value.$ref).startsWith('#/$defs/__schema') ? {} : value
}

const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): JsonObject => {
  const made = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as JsonObject
  // The dialect of OpenAPI 3.1 is the default, and a reference would start at the root of the whole document.
  const own = Object.entries(made).filter(([name]) => name !== '$schema' && name !== '$defs')
  return JSON.parse(JSON.stringify(Object.fromEntries(own)), withoutDefinitions) as JsonObject
}

const parameter = (name: string, where: 'path' | 'query' | 'header', required: boolean, schema: JsonObject) => ({
  ...{ name, in: where, required, schema },
  ...(typeof schema['description'] === 'string' && { description: schema['description'] }),
})

const text = (description: string, more: JsonObject = {}): JsonObject => ({ type: 'string', description, ...more })

const parametersOf = ({ path, query, conditional, idempotent }: ApiRoute) => {
  const { properties = {}, required = [] } = query === undefined ? {} : schemaOf(query, 'input')
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) =>
      parameter(name, 'path', true, { type: 'string', minLength: 1, maxLength: 512 }),
    ),
    ...Object.entries(properties as JsonObject).map(([name, schema]) =>
      parameter(name, 'query', (required as readonly string[]).includes(name), schema as JsonObject),
    ),
    ...(conditional ? [parameter('If-Match', 'header', true, text('The `ETag` of the object as it was read.'))] : []),
    ...(idempotent
      ? [
          parameter(
            'Idempotency-Key',
            'header',
            false,
            text('A repetition with the same key gets the first answer for 24 hours.', {
              ...{ minLength: 8, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
            }),
          ),
        ]
      : []),
  ]
}

/** Every status with which a route of this kind refuses requests. */
const refusalsOf = ({ body, conditional, idempotent, path }: ApiRoute): readonly number[] => [
  ...[400, 401, 403, 409, 429, 431, 503],
  ...(path.includes('{') ? [404] : []),
  ...(body === undefined ? [] : [413, 415]),
  ...(conditional ? [412, 428] : []),
  ...(idempotent ? [422] : []),
]

const descriptions: Readonly<Record<number, string>> = {
  400: 'The request is not valid.',
  401: 'The request has no valid credential of an operator.',
  403: 'The operator does not have the permission.',
  404: 'There is no such object.',
  409: 'The object is in a state that does not permit this.',
  412: 'The object was changed since it was read.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'The idempotency key was sent with another request.',
  428: '`If-Match` is missing.',
  429: 'Too many requests in one minute.',
  431: 'The headers or the path are too large.',
  503: 'A store or the audit log is down. Nothing was changed unless the audit log says so.',
}

const problem = { $ref: '#/components/responses/Problem' } as const

/** Permissions of the actions that `dual_control` may hold back. */
const heldBack: readonly string[] = Object.values(controlled)

/** Changes that may wait for the approval of other operators. */
const waitingOf = ({ permission, method, status }: ApiRoute): JsonObject =>
  method === 'GET' || status === 202 || !heldBack.includes(permission)
    ? {}
    : {
        202: {
          description: 'Other operators must approve it first.',
          content: { 'application/json': { schema: schemaOf(waitingApproval, 'output') } },
        },
      }

const successOf = (route: ApiRoute): JsonObject => {
  const { output, status, summary, conditional, path } = route
  if (output === undefined) return { 204: { description: 'Done.' } }
  const hasTag = conditional === true || (route.method === 'GET' && path.endsWith('}'))
  return {
    [status ?? 200]: {
      description: summary,
      ...(hasTag && { headers: { ETag: { schema: text('The version of the object, for `If-Match`.') } } }),
      content: { 'application/json': { schema: schemaOf(output, 'output') } },
    },
  }
}

const operationOf = (route: ApiRoute): JsonObject => {
  const body = route.documentedBody ?? route.body
  return {
    operationId: route.operation,
    tags: [route.tag],
    summary: route.summary,
    description:
      route.permission === 'operator' ? 'Open to every operator.' : `Needs the permission \`${route.permission}\`.`,
    parameters: parametersOf(route),
    ...(body !== undefined && {
      requestBody: { content: { 'application/json': { schema: schemaOf(body, 'input') } } },
    }),
    responses: {
      ...successOf(route),
      ...waitingOf(route),
      ...Object.fromEntries(
        refusalsOf(route).map((status) => [
          status,
          // The parser of HTTP refuses headers that are far too large, in a form of its own.
          { ...(status !== 431 && problem), description: descriptions[status] ?? '' },
        ]),
      ),
    },
  }
}

/** The description of these routes (OpenAPI 3.1), made from the schemas that check requests and answers. */
export const createOpenApi = (routes: readonly ApiRoute[]): JsonObject => {
  const paths: Record<string, JsonObject> = {}
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Signet administration',
      version: build.version,
      description: 'What operators read and change. It is served on the admin listener.',
    },
    servers: [{ url: apiPath }],
    security: [{ operatorToken: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        operatorToken: { type: 'http', scheme: 'bearer', description: '`signet operators issue` prints one.' },
      },
      responses: {
        Problem: {
          description: 'The request was refused (RFC 9457).',
          content: { [problemType]: { schema: schemaOf(problemDocument, 'output') } },
        },
      },
    },
  }
}
