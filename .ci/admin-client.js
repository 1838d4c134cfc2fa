import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// Writes `signet-idp/admin` from the description of the API: a table of operations, and their types.

const isName = (name) => /^[A-Za-z_$][\w$]*$/.test(name)

const key = (name, isOptional) => `readonly ${isName(name) ? name : JSON.stringify(name)}${isOptional ? '?' : ''}`

const union = (types) => [...new Set(types)].join(' | ')

/** The type of a JSON Schema, as the schemas of the API use it. */
const typeOf = (schema) => {
  if (schema === undefined || schema === true || Object.keys(schema).length === 0) return 'unknown'
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)))
  const variants = schema.anyOf ?? schema.oneOf
  if (variants !== undefined) return union(variants.map(typeOf))
  if (schema.allOf !== undefined) return schema.allOf.map(typeOf).join(' & ')
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type })))
  if (schema.type === 'integer') return 'number'
  if (schema.type === 'array') return `readonly (${typeOf(schema.items)})[]`
  if (schema.type !== 'object') return schema.type ?? 'unknown'
  const { properties = {}, required = [], additionalProperties } = schema
  const members = Object.entries(properties).map(
    ([name, member]) => `${key(name, !required.includes(name))}: ${typeOf(member)}`,
  )
  const isOpen = typeof additionalProperties === 'object'
  if (members.length === 0)
    return isOpen ? `Readonly<Record<string, ${typeOf(additionalProperties)}>>` : 'Readonly<Record<string, unknown>>'
  const own = `{ ${members.join('; ')} }`
  return isOpen ? `${own} & Readonly<Record<string, unknown>>` : own
}

const bodyOf = ({ requestBody }) => requestBody?.content['application/json'].schema

/** Says whether a body without members is one. */
const isBodyOptional = (schema) => schema === undefined || (schema.required ?? []).length === 0

const inputOf = (operation) => {
  const parameters = operation.parameters ?? []
  const inPath = parameters.filter((one) => one.in === 'path')
  const inQuery = parameters.filter((one) => one.in === 'query')
  const body = bodyOf(operation)
  const has = (name) => parameters.some((one) => one.name === name)
  const query = inQuery.map((one) => `${key(one.name, !one.required)}: ${typeOf(one.schema)}`).join('; ')
  const members = [
    ...inPath.map(({ name }) => `${key(name, false)}: string`),
    ...(inQuery.length > 0 ? [`${key('query', !inQuery.some((one) => one.required))}: { ${query} }`] : []),
    ...(body === undefined ? [] : [`${key('body', isBodyOptional(body))}: ${typeOf(body)}`]),
    ...(has('If-Match') ? [`${key('ifMatch', false)}: string`] : []),
    ...(has('Idempotency-Key') ? [`${key('idempotencyKey', true)}: string`] : []),
  ]
  if (members.length === 0) return ''
  const isOptional = members.every((member) => /^readonly [^:]*\?:/.test(member))
  return `input${isOptional ? '?' : ''}: { ${members.join('; ')} }`
}

const outputOf = ({ responses }) => {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
  const schema = success?.content?.['application/json']?.schema
  return schema === undefined ? 'undefined' : typeOf(schema)
}

/** The text of the module and of its types. */
export const renderAdminClient = ({ paths }) => {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  )
  const table = operations.map(
    ({ operationId, method, path }) => `  ${operationId}: { method: '${method}', path: '${path}' },`,
  )
  const members = operations.map(
    (operation) =>
      `  /** ${operation.summary} ${operation.description} */\n` +
      `  ${operation.operationId}(${inputOf(operation)}): Promise<Answer<${outputOf(operation)}>>`,
  )
  return {
    module: [
      "import { AdminProblem, createClient } from '../libraries/admin/client.js'",
      'export { AdminProblem }',
      `const operations = {\n${table.join('\n')}\n}`,
      'export const createAdminClient = (options) => createClient(operations, options)',
      '',
    ].join('\n'),
    types: [
      "import type { AdminClientOptions, Answer } from '../libraries/admin/client.js'",
      "export { AdminProblem } from '../libraries/admin/client.js'",
      "export type { AdminClientOptions, Answer, Fault } from '../libraries/admin/client.js'",
      '/** The operations of the admin API. Each throws `AdminProblem` for a refusal. */',
      `export interface AdminClient {\n${members.join('\n')}\n}`,
      '/** Creates a client of the admin API. It repeats no request. */',
      'export declare const createAdminClient: (options: AdminClientOptions) => AdminClient',
      '',
    ].join('\n'),
  }
}

/** Writes both below `dist/admin-client`, from what was compiled. */
export const writeAdminClient = async (dist) => {
  const { openApi } = await import(join(dist, 'core/admin-api/routes.js'))
  const { module, types } = renderAdminClient(openApi())
  mkdirSync(join(dist, 'admin-client'), { recursive: true })
  writeFileSync(join(dist, 'admin-client/index.js'), module)
  writeFileSync(join(dist, 'admin-client/index.d.ts'), types)
}
