/** The top-level keys by subject, in the order of the document. */
const chapters: Readonly<Record<string, readonly string[]>> = {
  Service: [
    'extends',
    'issuer',
    'listen',
    'admin',
    'operators',
    'dual_control',
    'approval_hours',
    'break_glass_secret',
    'workers',
    'trusted_proxies',
    'outbound',
    'shutdown',
  ],
  'Client certificates': ['client_certificate_header', 'mtls'],
  'Scopes and claims': ['scopes_supported', 'unknown_scopes', 'claims', 'authorization_details_types'],
  'Grants and tokens': [
    'response_types_supported',
    'grant_types_supported',
    'id_token_signing_alg',
    'access_token_signing_alg',
    'authorization_code_ttl_secs',
    'access_token_ttl_secs',
    'id_token_ttl_secs',
    'refresh_token_idle_ttl_secs',
    'refresh_token_absolute_ttl_secs',
    'refresh_token_without_openid',
    'device_code_ttl_secs',
    'auth_req_id_ttl_secs',
    'token_exchange_enabled',
    'default_audience',
    'resources',
    'pairwise_key',
    'pairwise_key_replaced',
  ],
  'Requests and profiles': [
    'par_ttl_secs',
    'require_pushed_authorization_requests',
    'require_signed_request_object',
    'request_uris',
    'client_assertion_max_age_secs',
    'clock_tolerance_secs',
    'security_profile',
    'fapi2_message_signing',
    'acr_values_supported',
    'userinfo',
  ],
  'Sessions and pages': ['session_ttl_secs', 'account_page', 'ui'],
  'Clients and accounts': ['clients', 'accounts', 'registration'],
  'Keys and modules': ['signers', 'keys', 'key_log', 'plugins'],
  Storage: ['storage'],
  Attestation: ['attestation'],
  'Rate limits': ['rate_limits'],
  Operators: ['operators'],
  'Logs and audit': ['log', 'audit'],
}

const introduction = `# Configuration reference

Every key of the [configuration file](configuration.md). \`npm run schema\` writes this document from the schema that Signet checks a file with.

\`issuer\` and \`keys\` are required. So is a plugin that provides a grant, with \`scopes_supported\`, or the section
[\`attestation\`](attestation.md#a-deployment-that-only-attests). Durations are whole seconds.

Algorithms: \`RS256\`, \`RS384\`, \`RS512\`, \`PS256\`, \`ES256\`, \`ES384\`, \`EdDSA\`. Clients may also use the newer name \`Ed25519\` (RFC 9864) for
\`EdDSA\` in what they sign.
`

type Schema = {
  readonly title?: string
  readonly description?: string
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | false
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

const code = (value: unknown): string => `\`${String(value)}\``

const branchesOf = ({ anyOf = [], oneOf = [] }: Schema): readonly Schema[] => [...anyOf, ...oneOf]

/** Joins names as `a, b or c`. */
const choiceOf = (options: readonly string[]): string => {
  const [last = '', ...others] = [...new Set(options)].reverse()
  return others.length === 0 ? last : `${others.reverse().join(', ')} or ${last}`
}

const plainTypes: Readonly<Record<string, string>> = { string: 'text', boolean: 'true or false', number: 'number' }

const typeOf = (schema: Schema): string => {
  const { title, type, minimum, maximum, items, properties } = schema
  const branches = branchesOf(schema)
  if (title !== undefined) return title
  if (schema.const !== undefined) return code(schema.const)
  if (schema.enum !== undefined) return choiceOf(schema.enum.map(code))
  if (branches.length > 0) return choiceOf(branches.map(typeOf))
  if (type === 'integer')
    return maximum === Number.MAX_SAFE_INTEGER ? `from ${String(minimum)}` : `${String(minimum)} to ${String(maximum)}`
  if (type === 'array') return items === undefined ? 'list' : `list of ${pluralOf(items)}`
  if (type === 'object') return properties === undefined ? 'section by name' : 'section'
  return plainTypes[type ?? ''] ?? 'any value'
}

const pluralOf = (items: Schema): string => {
  const branches = items.title === undefined ? branchesOf(items) : []
  const names = (branches.length > 0 ? branches : [items]).map(typeOf)
  return choiceOf(names.map((name) => (/^[\w ]+$/.test(name) ? `${name}s` : name)))
}

/** A value in YAML on one line. */
const inYaml = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(inYaml).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const members = Object.entries(value).map(([name, inner]) => `${name}: ${inYaml(inner)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

const day = 86_400

const fallbackOf = (key: string, { default: fallback, type }: Schema): string => {
  if (fallback === undefined || (type === 'object' && inYaml(fallback) === '{}')) return ''
  const days = key.endsWith('_secs') && typeof fallback === 'number' && fallback > day ? fallback / day : undefined
  return `, default ${code(inYaml(fallback))}${days === undefined ? '' : ` (${String(days)} days)`}`
}

/** A key and everything below it. `when` is the choice that adds the key. */
const describeKey = (key: string, schema: Schema, isRequired: boolean, when = ''): readonly string[] => {
  if (schema.description === undefined) throw new Error(`${key} has no description in the schema`)
  const facts = `${when}${typeOf(schema)}${isRequired ? ', required' : fallbackOf(key, schema)}`
  return [`- ${code(key)} (${facts}): ${schema.description}`, ...describeBelow(key, schema, when)]
}

const describeMembers = (path: string, schema: Schema, when: string): readonly string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, inner]) =>
    describeKey(`${path}.${name}`, inner, schema.required?.includes(name) ?? false, when),
  )

const describeBelow = (path: string, schema: Schema, when: string): readonly string[] => {
  const { items, additionalProperties: others } = schema
  return [
    ...describeMembers(path, schema, when),
    ...(items === undefined ? [] : describeBelow(`${path}[]`, items, when)),
    ...(typeof others === 'object' ? describeBelow(`${path}.*`, others, when) : []),
    ...branchesOf(schema).flatMap((branch) => describeBelow(path, branch, when)),
  ]
}

/** A store is chosen by name, and the choice determines its options. */
const describeStore = (role: string, store: Schema): readonly string[] => {
  const [builtIn, other] = store.anyOf ?? []
  if (builtIn === undefined || other === undefined) throw new Error(`${role} has no choice of stores`)
  const options = branchesOf(builtIn).flatMap(({ properties: { use, options: its } = {} }) =>
    its === undefined ? [] : describeMembers(`${role}.options`, its, `with ${code(`use: ${String(use?.const)}`)}; `),
  )
  return [`- ${code(role)} (section): ${store.description ?? ''}`, ...describeBelow(role, other, ''), ...options]
}

const describeTop = (key: string, schema: Schema, isRequired: boolean): readonly string[] =>
  key === 'storage'
    ? [
        `- ${code(key)} (section): ${schema.description ?? ''}`,
        ...Object.entries(schema.properties ?? {}).flatMap(([role, store]) => describeStore(`${key}.${role}`, store)),
      ]
    : describeKey(key, schema, isRequired)

/**
 * The Markdown reference of every key, from the JSON Schema before substitutions are allowed. Throws when a key has
 * no chapter or no description.
 */
export const generateReference = ({ properties = {}, required = [] }: Schema): string => {
  const listed = new Set(Object.values(chapters).flat())
  const unknown = [...listed].filter((key) => !Object.hasOwn(properties, key))
  const missing = Object.keys(properties).filter((key) => !listed.has(key))
  if (unknown.length + missing.length > 0)
    throw new Error(`no key, or no chapter: ${[...unknown, ...missing].join(', ')}`)
  const parts = Object.entries(chapters).map(([title, keys]) => {
    const rows = keys.flatMap((key) => describeTop(key, properties[key] ?? {}, required.includes(key)))
    return `## ${title}\n\n${rows.join('\n')}\n`
  })
  return [introduction, ...parts].join('\n')
}
