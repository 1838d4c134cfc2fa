import { isUtf8 } from 'node:buffer'

/** An attribute of a name: its type as an OID, its value as text. */
export type NameAttribute = readonly [oid: string, value: string]

/** The relative names from the root down, as in certificates (X.501). One may have several attributes. */
export type DistinguishedName = readonly (readonly NameAttribute[])[]

/** The short names of RFC 4514 §3 and RFC 4519, and those that certificate programs print for common types. */
const oids: ReadonlyMap<string, string> = new Map([
  ['CN', '2.5.4.3'],
  ['SN', '2.5.4.4'],
  ['SERIALNUMBER', '2.5.4.5'],
  ['C', '2.5.4.6'],
  ['L', '2.5.4.7'],
  ['ST', '2.5.4.8'],
  ['STREET', '2.5.4.9'],
  ['O', '2.5.4.10'],
  ['OU', '2.5.4.11'],
  ['TITLE', '2.5.4.12'],
  ['BUSINESSCATEGORY', '2.5.4.15'],
  ['POSTALCODE', '2.5.4.17'],
  ['GIVENNAME', '2.5.4.42'],
  ['GN', '2.5.4.42'],
  ['ORGANIZATIONIDENTIFIER', '2.5.4.97'],
  ['UID', '0.9.2342.19200300.100.1.1'],
  ['DC', '0.9.2342.19200300.100.1.25'],
  ['EMAILADDRESS', '1.2.840.113549.1.9.1'],
  ['E', '1.2.840.113549.1.9.1'],
])

const maxLength = 1024

/** RFC 4514 §3: a literal character, `\` and a special character, or `\` and two hexadecimal digits. */
const value = String.raw`(?:[^\\",;<>+\0]|\\(?:[ "#+,;<=>\\]|[\dA-Fa-f]{2}))*`
const attribute = new RegExp(String.raw`\s*([A-Za-z][A-Za-z\d-]*|\d+(?:\.\d+)+)\s*=(${value})([,+]|$)`, 'y')

/** Leading and trailing blanks count only when they are escaped. */
const unescape = (text: string): string | undefined => {
  const trimmed = text.replace(/^ +/, '').replace(/(?<!\\)((?:\\\\)*) +$/, '$1')
  const bytes: Buffer[] = []
  for (const [, hex, escaped, plain] of trimmed.matchAll(/\\([\dA-Fa-f]{2})|\\(.)|([^\\]+)/gsu))
    bytes.push(hex === undefined ? Buffer.from(escaped ?? plain ?? '') : Buffer.from(hex, 'hex'))
  const whole = Buffer.concat(bytes)
  return isUtf8(whole) && !whole.includes(0) ? whole.toString('utf8') : undefined
}

/**
 * Reads the text form of a name (RFC 4514), such as `CN=app,O=Bank\, Inc.,C=DE`. Types are short names or OIDs;
 * values are UTF-8 without null characters and not hexadecimal. Returns undefined for anything else.
 */
export const parseDistinguishedName = (name: string): DistinguishedName | undefined => {
  if (name.length > maxLength) return undefined
  const names: NameAttribute[][] = []
  let joins = false
  attribute.lastIndex = 0
  for (let end = ','; end !== '';) {
    const [, type = '', written = '', next = ''] = attribute.exec(name) ?? []
    const oid = /^\d/.test(type) ? type : oids.get(type.toUpperCase())
    if (oid === undefined || written.trim() === '' || written.trimStart().startsWith('#')) return undefined
    const text = unescape(written)
    if (text === undefined) return undefined
    const found: NameAttribute = [oid, text]
    if (joins) names.at(-1)?.push(found)
    else names.push([found])
    joins = next === '+'
    end = next
  }
  // The text form starts with the last relative name.
  return names.reverse()
}

/** Case and the number of consecutive blanks are ignored (RFC 5280 §7.1, RFC 4518 §2). */
const normalize = (text: string): string => text.normalize('NFKC').trim().replaceAll(/\s+/g, ' ').toLowerCase()

const comparable = (name: readonly NameAttribute[]): string =>
  JSON.stringify(name.map(([oid, text]) => `${oid}=${normalize(text)}`).sort())

/** Compares attribute by attribute (RFC 5280 §7.1). A name with a null character never matches. */
export const isSameName = (left: DistinguishedName, right: DistinguishedName): boolean =>
  left.length === right.length &&
  left.every((name, index) => comparable(name) === comparable(right[index] ?? [])) &&
  !left.some((name) => name.some(([, text]) => text.includes('\0')))
