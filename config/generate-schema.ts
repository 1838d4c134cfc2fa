import { readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
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

const here = fileURLToPath(import.meta.url)

/** The default export of a built-in store, as far as an editor needs it. */
interface StoreModule {
  readonly name: string
  readonly roles?: readonly string[]
  readonly options: z.ZodType
}

/** The modules decide about their options, and the configuration knows none of them: they are found in their folder. */
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
  // It stands once, at the beginning of the document.
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

/** One of the built-in stores with its options, or another one by its specifier. */
const describeStores = (role: string, other: Node, stores: readonly StoreModule[]): Node => {
  const { default: fallback, ...choice } = other
  const suitable = stores.filter(({ roles = [role] }) => roles.includes(role))
  return { default: fallback, anyOf: [{ oneOf: suitable.map(toChoice) }, choice] }
}

/** The JSON Schema of the configuration file, for editors. Made from the schemas that decide. */
export const generateSchema = async (): Promise<string> => {
  const written = z.toJSONSchema(configObject, { io: 'input' }) as Node
  const { storage } = written.properties as { readonly storage: { readonly properties: Record<string, Node> } }
  const stores = await readStores()
  for (const [role, other] of Object.entries(storage.properties))
    storage.properties[role] = describeStores(role, other, stores)
  const { $defs, ...schema } = allowSubstitution(written) as Node
  const document = { title: 'Signet configuration', ...schema, $defs: { ...(isNode($defs) && $defs), substitution } }
  return `${JSON.stringify(document, null, 2)}\n`
}

if (process.argv[1] === here) writeFileSync(join(dirname(here), 'schema.json'), await generateSchema())
