import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { openApi } from '../../core/admin-api/routes.js'
import { packageRoot } from '../../core/package-root.js'

// `npm run schema` writes docs/admin-api-reference.md from the description of the admin API.

interface Schema {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly format?: string
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly anyOf?: readonly Schema[]
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: Schema
}

interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content & { readonly description: string }>>
}

interface Description {
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Request extends Operation {
  readonly title: string
}

const file = 'docs/admin-api-reference.md'

/** Bodies whose members another document describes. */
const elsewhere: Readonly<Record<string, string>> = {
  createClient: '[client metadata](clients.md#client-metadata)',
  updateClient: '[client metadata](clients.md#client-metadata), and `disabled`',
}

const code = (value: unknown): string => `\`${String(value)}\``

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ')

const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ''
    : [heads, heads.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

const unique = (texts: readonly string[]): string => [...new Set(texts)].join(' or ')

const rangeOf = ({ minimum, maximum }: Schema): string =>
  minimum === undefined || maximum === undefined || maximum === Number.MAX_SAFE_INTEGER || minimum < 0
    ? 'integer'
    : `${String(minimum)} to ${String(maximum)}`

const typeOf = (schema: Schema): string => {
  if (schema.const !== undefined) return code(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(code).join(', ')
  if (schema.anyOf !== undefined) return unique(schema.anyOf.map(typeOf))
  if (schema.type === 'array') return schema.items === undefined ? 'list' : `list of ${typeOf(schema.items)}`
  if (schema.type === 'integer') return rangeOf(schema)
  if (schema.type === 'string') return schema.format === 'date-time' ? 'time' : 'text'
  return schema.type === 'boolean' ? 'true or false' : (schema.type ?? 'any JSON')
}

const bodyOf = ({ requestBody }: Operation): Schema => requestBody?.content?.['application/json']?.schema ?? {}

/** Sent with several requests, and described once at the start of the document. */
const common: readonly string[] = ['limit', 'cursor', 'If-Match', 'Idempotency-Key']

const rowOf = (title: string, name: string, where: string, schema: Schema, required: boolean): readonly string[] => [
  ...[title, code(name), where],
  `${typeOf(schema)}${required ? ', required' : ''}${schema.default === undefined ? '' : `, default ${code(JSON.stringify(schema.default))}`}`,
  schema.description ?? '',
]

const takenBy = (request: Request): readonly (readonly string[])[] => {
  const body = bodyOf(request)
  const known = elsewhere[request.operationId]
  const members = Object.entries(body.properties ?? {}).map(([name, schema]) =>
    rowOf(request.title, name, 'body', schema, body.required?.includes(name) ?? false),
  )
  return [
    ...request.parameters
      .filter((one) => one.in === 'query' && !common.includes(one.name))
      .map((one) => rowOf(request.title, one.name, one.in, one.schema, one.required)),
    ...(known === undefined ? members : [[request.title, known, 'body', '', '']]),
  ]
}

/** The names of the members of an answer; of a list those of its items. */
const membersOf = (schema: Schema): string => {
  const item = schema.properties?.['items']?.items
  const names = Object.keys((item ?? schema).properties ?? {}).map(code)
  const listed = names.length === 0 ? '' : `: ${names.join(', ')}`
  return item === undefined ? listed : ` with items${listed}`
}

const answersOf = ({ responses }: Operation): string =>
  Object.entries(responses)
    .filter(([status]) => status < '300')
    .map(([status, { content }]) => `${status}${membersOf(content?.['application/json']?.schema ?? {})}`)
    .filter((answer) => !answer.startsWith('202: `approval`'))
    .join('; ')

const statusesOf = ({ responses }: Operation): readonly string[] =>
  Object.keys(responses).filter((status) => status >= '400')

const sentWith = ({ parameters }: Operation): string =>
  parameters
    .filter(({ name }) => common.includes(name))
    .map(({ name }) => code(name))
    .join(', ')

const permissionOf = ({ description }: Operation): string => /`[\w.]+`/.exec(description)?.[0] ?? ''

const introductionOf = (url: string, shared: readonly string[], descriptions: ReadonlyMap<string, string>): string =>
  `# Reference of the admin API

Every request below ${code(url)} of the [admin listener](administration.md#the-api). \`npm run schema\` writes this document from the
description that the service has at \`${url}/openapi.json\`, with each schema in full.

- A request carries \`Authorization: Bearer\` with a [token](administration.md#tokens-for-automation), or comes with the certificate of an operator.
- \`limit\` (1 to 200, by default 50) and \`cursor\` page through lists: \`cursor\` is \`next_cursor\` of the page before.
- \`If-Match\` is the \`ETag\` of the object as it was read. \`Idempotency-Key\` may be sent with what creates something.
- Where \`dual_control\` holds a change back, the answer is 202 with the id of the [approval](administration.md#approvals).

Refusals are problem documents (RFC 9457). The last column has those that not every request can get:

${table(
  ['Status', 'Means', 'From'],
  [...descriptions]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([status, meaning]) => [status, meaning, shared.includes(status) ? 'every request' : 'some']),
)}
`

const chapterOf = (name: string, requests: readonly Request[], shared: readonly string[]): string => {
  const overview = requests.map((request) => [
    ...[request.title, request.summary, permissionOf(request), sentWith(request), answersOf(request)],
    statusesOf(request)
      .filter((status) => !shared.includes(status))
      .join(', '),
  ])
  const taken = table(['Request', 'Takes', 'In', 'Type', 'Meaning'], requests.flatMap(takenBy))
  return [
    `## ${name}`,
    table(['Request', 'Does', 'Permission', 'Sent with', 'Answer', 'Problems'], overview),
    ...(taken === '' ? [] : [taken]),
  ].join('\n\n')
}

/** The Markdown reference of the admin API, formatted as the repository formats its documents. */
export const generateAdminReference = async (): Promise<string> => {
  const { servers, tags, paths } = openApi() as unknown as Description
  const requests = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, one]): Request => ({
      ...one,
      title: code(`${method.toUpperCase()} ${path}`),
    })),
  )
  const descriptions = new Map(
    requests.flatMap((one) => statusesOf(one).map((status) => [status, one.responses[status]?.description ?? ''])),
  )
  const shared = [...descriptions.keys()].filter((status) => requests.every((one) => statusesOf(one).includes(status)))
  const chapters = tags.map(({ name }) =>
    chapterOf(
      name,
      requests.filter((one) => one.tags.includes(name)),
      shared,
    ),
  )
  const text = [introductionOf(servers[0]?.url ?? '', shared, descriptions), ...chapters].join('\n\n')
  const path = join(packageRoot, file)
  return format(text, { ...(await resolveConfig(path)), filepath: path })
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(join(packageRoot, file), await generateAdminReference())
