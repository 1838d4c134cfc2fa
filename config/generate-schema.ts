import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { configObject } from './schema.js'

type Node = { [name: string]: unknown }

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)

const reference = { $ref: '#/$defs/substitution' }

const substitution = {
  description: 'Text from an environment variable, or from a file beside this one.',
  oneOf: [
    { type: 'object', properties: { $env: { type: 'string' } }, required: ['$env'], additionalProperties: false },
    { type: 'object', properties: { $file: { type: 'string' } }, required: ['$file'], additionalProperties: false },
  ],
}

/** Lets `{$env: …}` and `{$file: …}` stand wherever text may. Names of members stay names. */
const allowSubstitution = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(allowSubstitution)
  if (!isNode(value)) return value
  const walked = Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, name === 'propertyNames' ? inner : allowSubstitution(inner)]),
  )
  if (walked.type !== 'string') return walked
  const { default: fallback, ...text } = walked
  return { anyOf: [text, reference], ...(fallback !== undefined && { default: fallback }) }
}

/** The JSON Schema of the configuration file, for editors. Made from the schema that decides. */
export const generateSchema = (): string => {
  const { $defs, ...schema } = allowSubstitution(z.toJSONSchema(configObject, { io: 'input' })) as Node
  const document = { title: 'Signet configuration', ...schema, $defs: { ...(isNode($defs) && $defs), substitution } }
  return `${JSON.stringify(document, null, 2)}\n`
}

const here = fileURLToPath(import.meta.url)

if (process.argv[1] === here) writeFileSync(join(dirname(here), 'schema.json'), generateSchema())
