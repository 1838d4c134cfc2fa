import type { ImportedAccount } from '../../administration/import/imported-account.js'
import { claimsOf } from './fields.js'

/** The attributes of one entry of an LDIF by name in lower case, and the line where it begins. */
export interface LdifEntry {
  readonly line: number
  readonly attributes: ReadonlyMap<string, readonly string[]>
}

const attributeOf = (line: string): readonly [name: string, value: string] | undefined => {
  const [, name, mark, rest = ''] = /^([A-Za-z0-9.-]+)(?:;[^:]*)?(::?<?) ?(.*)$/s.exec(line) ?? []
  if (name === undefined || mark === undefined || mark.endsWith('<')) return undefined
  return [name.toLowerCase(), mark === '::' ? Buffer.from(rest, 'base64').toString('utf8') : rest]
}

/** Yields the entries of an LDIF (RFC 2849). Values that lie in other files are left out. */
export async function* ldifEntries(lines: AsyncIterable<string>): AsyncGenerator<LdifEntry> {
  let [number, begin] = [0, 0]
  let attributes = new Map<string, string[]>()
  let pending: string | undefined
  const take = (): void => {
    const found = pending === undefined || pending.startsWith('#') ? undefined : attributeOf(pending)
    if (found) attributes.set(found[0], [...(attributes.get(found[0]) ?? []), found[1]])
    pending = undefined
  }
  for await (const raw of lines) {
    number++
    const line = raw.replace(/\r$/, '')
    // A line that begins with a blank continues the line before it.
    if (line.startsWith(' ') && pending !== undefined) pending += line.slice(1)
    else {
      take()
      if (line === '' && attributes.size > 0) {
        yield { line: begin, attributes }
        attributes = new Map()
      }
      if (line !== '') {
        if (attributes.size === 0) begin = number
        pending = line
      }
    }
  }
  take()
  if (attributes.size > 0) yield { line: begin, attributes }
}

const people = new Set(['person', 'organizationalperson', 'inetorgperson', 'posixaccount', 'account', 'user'])

/** The first name of a distinguished name: `admins` of `cn=admins,ou=groups,dc=bank`. */
const firstName = (dn: string): string => /^[^=,]+=([^,]+)/.exec(dn)?.[1] ?? dn

/** Reads the account of an entry. Undefined: the entry is no person, but a group or a folder. */
export const fromLdif = ({ attributes }: LdifEntry): Omit<ImportedAccount, 'place'> | undefined => {
  const first = (...names: readonly string[]): string | undefined =>
    names.map((name) => attributes.get(name)?.[0]).find((value) => value !== undefined && value !== '')
  if (!attributes.get('objectclass')?.some((name) => people.has(name.toLowerCase()))) return undefined
  return {
    username: first('uid', 'samaccountname', 'mail', 'cn') ?? '',
    sub: first('entryuuid'),
    passwordHash: first('userpassword'),
    claims: claimsOf({
      name: first('displayname', 'cn'),
      ...{ given_name: first('givenname'), family_name: first('sn') },
      ...{ email: first('mail'), phone_number: first('telephonenumber', 'mobile') },
      groups: attributes.get('memberof')?.map(firstName),
    }),
  }
}
