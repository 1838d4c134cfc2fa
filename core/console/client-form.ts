import type { JsonObject } from '../json.js'
import type { Translator } from '../interaction/languages/translator.js'

/** A member of client metadata as a field of the form. */
interface ClientField {
  readonly name: string
  /** `lines` is one value a line, `words` are separated by blanks, `check` is true or absent. */
  readonly kind: 'line' | 'lines' | 'words' | 'check' | 'select' | 'json'
  readonly options?: readonly string[]
}

interface ClientGroup {
  readonly name: 'basics' | 'sign_in' | 'authentication' | 'tokens'
  readonly fields: readonly ClientField[]
}

const authMethods = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
  'tls_client_auth',
  'self_signed_tls_client_auth',
  'none',
] as const

/** The members that the form has. All others of a client stay as they are, and the API changes them. */
const groups = (scopes: readonly string[]): readonly ClientGroup[] => [
  {
    name: 'basics',
    fields: [
      { name: 'client_name', kind: 'line' },
      { name: 'application_type', kind: 'select', options: ['web', 'native'] },
      { name: 'contacts', kind: 'lines' },
    ],
  },
  {
    name: 'sign_in',
    fields: [
      { name: 'redirect_uris', kind: 'lines' },
      { name: 'post_logout_redirect_uris', kind: 'lines' },
      { name: 'backchannel_logout_uri', kind: 'line' },
      { name: 'consent', kind: 'select', options: ['', 'remembered', 'required', 'implicit'] },
    ],
  },
  {
    name: 'authentication',
    fields: [
      { name: 'token_endpoint_auth_method', kind: 'select', options: authMethods },
      { name: 'jwks_uri', kind: 'line' },
      { name: 'jwks', kind: 'json' },
    ],
  },
  {
    name: 'tokens',
    fields: [
      { name: 'grant_types', kind: 'words' },
      { name: 'scope', kind: 'line', options: scopes },
      { name: 'allowed_audiences', kind: 'lines' },
      { name: 'security_profile', kind: 'select', options: ['', 'oauth2', 'fapi2'] },
      { name: 'dpop_bound_access_tokens', kind: 'check' },
    ],
  },
]

const fieldsOf = (): readonly ClientField[] => groups([]).flatMap(({ fields }) => fields)

/** The names of the fields that a request may have. */
export const clientFieldNames: readonly string[] = fieldsOf().map(({ name }) => name)

type Written = Readonly<Record<string, string | undefined>>

/** A fault of one member, as `core/oauth/clients` reports it. */
interface Fault {
  readonly path: string
  readonly message: string
}

const show = ({ kind }: ClientField, value: unknown): string => {
  if (value === undefined || value === null) return ''
  if (kind === 'lines' && Array.isArray(value)) return value.join('\n')
  if (kind === 'words' && Array.isArray(value)) return value.join(' ')
  if (kind === 'json') return JSON.stringify(value, undefined, 2)
  if (kind === 'check') return value === true ? 'on' : ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Writes the metadata of a client into the fields of the form. */
export const writeClientForm = (metadata: JsonObject): Written =>
  Object.fromEntries(fieldsOf().map((field) => [field.name, show(field, metadata[field.name])]))

const read = ({ kind, name }: ClientField, text: string): JsonObject[string] => {
  if (kind === 'lines') return text.split(/\s*\n\s*/).filter((line) => line !== '')
  if (kind === 'words') return text.split(/\s+/).filter((word) => word !== '')
  if (kind === 'check') return true
  if (kind !== 'json') return text.trim()
  try {
    return JSON.parse(text) as JsonObject
  } catch {
    // The check of the client reports the member with its name.
    return { [name]: 'not JSON' }
  }
}

/** Reads the members that the form has; one that is empty is `null`, which removes it (RFC 7396). */
export const readClientForm = (written: Written): JsonObject =>
  Object.fromEntries(
    fieldsOf().map((field) => {
      const text = written[field.name] ?? ''
      return [field.name, text === '' ? null : read(field, text)]
    }),
  )

const isOf = (name: string, { path }: Fault): boolean =>
  path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`)

/** The groups of fields for the view, with what was written and what is wrong with it. */
export const clientFormGroups = (
  texts: Translator,
  scopes: readonly string[],
  written: Written,
  faults: readonly Fault[],
) =>
  groups(scopes).map(({ name: group, fields }) => ({
    title: texts.text(`client.group.${group}`),
    fields: fields.map(({ name, kind, options }) => ({
      ...{ name, label: texts.text(`client.field.${name}`), hint: texts.text(`client.hint.${name}`) },
      kind: kind === 'lines' || kind === 'json' ? 'text' : kind === 'select' || kind === 'check' ? kind : undefined,
      value: written[name] ?? '',
      isCode: name !== 'client_name',
      fault: faults.find((fault) => isOf(name, fault))?.message,
      ...(kind === 'select' && {
        options: (options ?? []).map((value) => ({
          value,
          title: value === '' ? texts.text('client.default') : value,
        })),
      }),
    })),
  }))

/** The faults that belong to no field of the form. */
export const otherFaults = (faults: readonly Fault[]): readonly Fault[] =>
  faults.filter((fault) => !clientFieldNames.some((name) => isOf(name, fault)))
