import { readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { z } from 'zod'
import { generateReference } from './generate-reference.js'
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

/** Allows `{$env: …}` and `{$file: …}` wherever a text is allowed. Member names are not substituted. */
const allowSubstitution = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(allowSubstitution)
  if (!isNode(value)) return value
  const walked = Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, name === 'propertyNames' ? inner : allowSubstitution(inner)]),
  )
  if (walked.type !== 'string') return walked
  const { default: fallback, title, description, ...text } = walked
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    anyOf: [text, reference],
    ...(fallback !== undefined && { default: fallback }),
  }
}

/** Descriptions contain links, which editors do not show. */
const withoutLinks = (name: string, value: unknown): unknown =>
  name === 'description' && typeof value === 'string' ? value.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1') : value

const here = fileURLToPath(import.meta.url)

/** The default export of a built-in store, as far as the schema needs it. */
interface StoreModule {
  readonly name: string
  readonly roles?: readonly string[]
  readonly options: z.ZodType
}

/** The modules define their options and are unknown to the configuration, so they are read from their folder. */
const readStores = (): Promise<readonly StoreModule[]> => {
  const folder = join(dirname(here), '..', 'stores')
  return Promise.all(
    readdirSync(folder)
      .sort()
      .map(async (name) => {
        const url = pathToFileURL(join(folder, name, 'index.ts')).href
        return ((await import(url)) as { readonly default: StoreModule }).default
      }),
  )
}

const toInput = (schema: z.ZodType): Node => {
  const input = z.toJSONSchema(schema, { io: 'input' }) as Node
  // It appears once, at the start of the document.
  delete input.$schema
  return input
}

const toChoice = ({ name, options }: StoreModule): Node => {
  const isOptional = options.safeParse({}).success
  return {
    type: 'object',
    properties: {
      use: { type: 'string', const: name },
      options: { ...(isOptional && { default: {} }), ...toInput(options) },
    },
    required: ['use', ...(isOptional ? [] : ['options'])],
    additionalProperties: false,
  }
}

/** A built-in store with its options, or another one by its specifier. */
const describeStores = (role: string, other: Node, stores: readonly StoreModule[]): Node => {
  const { default: fallback, description, ...choice } = other
  const suitable = stores.filter(({ roles = [role] }) => roles.includes(role))
  return { description, default: fallback, anyOf: [{ oneOf: suitable.map(toChoice) }, choice] }
}

/**
 * Generates the descriptions of the configuration file from its schemas: a JSON Schema for editors, and a document
 * for people.
 */
export const generateSchema = async (): Promise<{ readonly schema: string; readonly reference: string }> => {
  const written = z.toJSONSchema(configObject, { io: 'input' }) as Node
  const { storage } = written.properties as { readonly storage: { readonly properties: Record<string, Node> } }
  const stores = await readStores()
  for (const [role, other] of Object.entries(storage.properties))
    storage.properties[role] = describeStores(role, other, stores)
  const { $defs, ...schema } = allowSubstitution(written) as Node
  const document = { title: 'Signet configuration', ...schema, $defs: { ...(isNode($defs) && $defs), substitution } }
  return { schema: `${JSON.stringify(document, withoutLinks, 2)}\n`, reference: generateReference(written) }
}

if (process.argv[1] === here) {
  const { schema, reference } = await generateSchema()
  writeFileSync(join(dirname(here), 'schema.json'), schema)
  writeFileSync(join(dirname(here), '..', 'docs', 'configuration-reference.md'), reference)
}
