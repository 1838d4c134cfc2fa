import type { ImportedAccount } from '../../administration/import/imported-account.js'
import type { JsonValue } from '../../json.js'
import { base32Totp, claimsOf, EntryFault } from './fields.js'

/** Lists and objects are written as JSON; any other text is itself, however much it looks like a number. */
const valueOf = (cell: string): JsonValue => {
  if (cell === 'true' || cell === 'false') return cell === 'true'
  if (!/^[[{]/.test(cell)) return cell
  try {
    return JSON.parse(cell) as JsonValue
  } catch {
    return cell
  }
}

const groupsOf = (cell: string): JsonValue =>
  cell.startsWith('[')
    ? valueOf(cell)
    : cell
        .split(/[;|]/)
        .map((group) => group.trim())
        .filter((group) => group !== '')

/** Columns with a meaning of their own; each other one is a claim of that name. */
const own = new Set(['username', 'sub', 'password', 'password_hash', 'totp_secret', 'disabled', 'groups'])

/** Reads a row of a CSV file with a header. Empty cells are left out. */
export const fromRow = (row: Readonly<Record<string, string>>): Omit<ImportedAccount, 'place'> => {
  const cell = (name: string): string | undefined => (row[name] === '' ? undefined : row[name])
  const username = cell('username') ?? cell('email')
  if (username === undefined) throw new EntryFault('The entry has no username.')
  const claims = Object.entries(row).filter(([name, value]) => !own.has(name) && value !== '')
  const groups = cell('groups')
  return {
    username,
    sub: cell('sub'),
    password: cell('password'),
    passwordHash: cell('password_hash'),
    disabled: /^(true|1|yes)$/i.test(cell('disabled') ?? ''),
    totp: base32Totp(cell('totp_secret')),
    claims: claimsOf({
      ...Object.fromEntries(claims.map(([name, value]) => [name, valueOf(value)])),
      ...(groups !== undefined && { groups: groupsOf(groups) }),
    }),
  }
}
