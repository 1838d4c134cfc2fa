import { KeyRefused } from '../../core/api/signer.js'

/** Identifies a token by its attributes (RFC 7512 §2.3). Absent members match anything. */
export interface TokenSelector {
  readonly token?: string
  readonly serial?: string
  readonly manufacturer?: string
  readonly model?: string
  readonly slot?: number
}

/** Identifies a private key. At least one member is present. */
export interface KeySelector {
  readonly object?: string
  /** Hexadecimal. */
  readonly id?: string
}

export interface Pkcs11Uri {
  readonly token: TokenSelector
  readonly key: KeySelector
}

const attributes = ['token', 'serial', 'manufacturer', 'model', 'slot-id', 'object', 'id', 'type'] as const
type Attribute = (typeof attributes)[number]

const refuse = (why: string): never => {
  throw new KeyRefused(`not a usable PKCS#11 URI (RFC 7512): ${why}`)
}

/** RFC 7512 §2.3: `pk11-pchar`; anything else is percent-encoded. */
const attributeValue = /^(?:[A-Za-z0-9\-._~:[\]@!$'()*+,=&]|%[0-9A-Fa-f]{2})*$/

const bytesOf = (value: string): Buffer =>
  Buffer.from(
    value.replace(/%([0-9A-Fa-f]{2})|(.)/g, (_all, hex: string | undefined, char: string) =>
      hex === undefined ? char.charCodeAt(0).toString(16).padStart(2, '0') : hex,
    ),
    'hex',
  )

const textOf = (name: string, value: string): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(value))
  } catch {
    return refuse(`the value of ${name} is not UTF-8`)
  }
}

const split = (uri: string): Map<Attribute, string> => {
  if (uri.length > 2048) refuse('it is longer than 2048 characters')
  if (!uri.startsWith('pkcs11:')) refuse('it does not begin with pkcs11:')
  const [path = '', ...query] = uri.slice('pkcs11:'.length).split('?')
  if (query.length > 0) refuse('it has a query (after `?`); the module and the PIN are options of the signer')
  const found = new Map<Attribute, string>()
  for (const part of path === '' ? [] : path.split(';')) {
    const equals = part.indexOf('=')
    const name = equals < 0 ? part : part.slice(0, equals)
    const known = attributes.find((attribute) => attribute === name)
    if (known === undefined)
      return refuse(`the attribute \`${printable(name)}\` is not one of ${attributes.join(', ')}`)
    if (found.has(known)) refuse(`${known} is given twice`)
    const value = equals < 0 ? '' : part.slice(equals + 1)
    if (value === '') refuse(`${known} has no value`)
    if (!attributeValue.test(value)) refuse(`the value of ${known} has characters that must be percent-encoded`)
    found.set(known, value)
  }
  return found
}

const printable = (text: string): string => text.slice(0, 40).replace(/[^\x20-\x7e]/g, '?')

const tokenOf = (found: ReadonlyMap<Attribute, string>): TokenSelector => {
  const selector: { -readonly [Name in keyof TokenSelector]: TokenSelector[Name] } = {}
  for (const name of ['token', 'serial', 'manufacturer', 'model'] as const) {
    const value = found.get(name)
    if (value !== undefined) selector[name] = textOf(name, value)
  }
  const slot = found.get('slot-id')
  if (slot !== undefined) {
    if (!/^\d{1,15}$/.test(slot)) refuse('slot-id is not a number')
    selector.slot = Number(slot)
  }
  return selector
}

/** Parses the `ref` of a key. Throws `KeyRefused`. */
export const parseKeyUri = (uri: string): Pkcs11Uri => {
  const found = split(uri)
  const type = found.get('type')
  if (type !== undefined && type !== 'private') refuse('type is not private')
  const object = found.get('object')
  const id = found.get('id')
  if (object === undefined && id === undefined) refuse('it names neither object nor id')
  const key: KeySelector = {
    ...(object === undefined ? {} : { object: textOf('object', object) }),
    ...(id === undefined ? {} : { id: bytesOf(id).toString('hex') }),
  }
  return { token: tokenOf(found), key }
}

/** Parses the option `token`: the label of the token, or a URI without a key. Throws `KeyRefused`. */
export const parseTokenOption = (text: string): TokenSelector => {
  if (!text.startsWith('pkcs11:')) return { token: text }
  const found = split(text)
  for (const name of ['object', 'id', 'type'] as const)
    if (found.has(name)) refuse(`${name} belongs to a key, and this names a token`)
  const selector = tokenOf(found)
  if (Object.keys(selector).length === 0) refuse('it names no token')
  return selector
}

/** Whether the token in a key's URI is the configured one, as far as both are specified. */
export const sameToken = (configured: TokenSelector, asked: TokenSelector): boolean =>
  (Object.keys(asked) as (keyof TokenSelector)[]).every(
    (name) => configured[name] === undefined || configured[name] === asked[name],
  )

const encode = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) => {
      const char = String.fromCharCode(byte)
      return /[A-Za-z0-9\-._~]/.test(char) ? char : `%${byte.toString(16).padStart(2, '0')}`
    })
    .join('')

/** The URI of a private key, for use as `ref`. */
export const keyUri = (token: TokenSelector, key: KeySelector): string => {
  const parts = [
    token.token === undefined ? undefined : `token=${encode(token.token)}`,
    token.serial === undefined ? undefined : `serial=${encode(token.serial)}`,
    key.object === undefined ? undefined : `object=${encode(key.object)}`,
    key.id === undefined ? undefined : `id=${key.id.replace(/../g, '%$&')}`,
    'type=private',
  ]
  return `pkcs11:${parts.filter((part) => part !== undefined).join(';')}`
}
