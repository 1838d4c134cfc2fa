import type { Handle, PKCS11, Template } from 'pkcs11js'
import {
  CKA_CLASS,
  CKA_EXTRACTABLE,
  CKA_ID,
  CKA_LABEL,
  CKA_SENSITIVE,
  CKO_PRIVATE_KEY,
  findPublic,
  named,
  read,
} from './key-objects.js'
import { TokenFailure } from './return-codes.js'
import type { KeySelector } from './uri.js'

const CKA_LOCAL = 0x163
const CKA_NEVER_EXTRACTABLE = 0x164
/** Objects in one answer of the token. */
const pageSize = 64
/** A token with more private keys than this is not ours alone. */
const most = 10_000

const findAll = (lib: PKCS11, session: Handle, template: Template): Handle[] => {
  lib.C_FindObjectsInit(session, template)
  try {
    const found: Handle[] = []
    while (found.length < most) {
      const page = lib.C_FindObjects(session, pageSize)
      if (page.length === 0) break
      found.push(...page)
    }
    return found
  } finally {
    lib.C_FindObjectsFinal(session)
  }
}

interface PrivateKey {
  readonly handle: Handle
  readonly key: KeySelector
}

/** Private keys, ordered by id and label. */
const privateKeys = (lib: PKCS11, session: Handle, by: KeySelector): readonly PrivateKey[] =>
  findAll(lib, session, [{ type: CKA_CLASS, value: CKO_PRIVATE_KEY }, ...named(by)])
    .map((handle): PrivateKey => {
      const id = read(lib, session, handle, CKA_ID)?.toString('hex') ?? ''
      const object = read(lib, session, handle, CKA_LABEL)?.toString() ?? ''
      return { handle, key: { ...(object !== '' && { object }), ...(id !== '' && { id }) } }
    })
    .filter(({ key }) => key.object !== undefined || key.id !== undefined)
    .toSorted((a, b) => orderOf(a) - orderOf(b) || (textOf(a) < textOf(b) ? -1 : 1))

const orderOf = ({ key }: PrivateKey): number => (key.id === undefined ? 1 : 0)
const textOf = ({ key }: PrivateKey): string => `${key.id ?? ''} ${key.object ?? ''}`

/** What is missing of a pair, in words; undefined when both halves are there. */
const flawOf = (lib: PKCS11, session: Handle, { handle }: PrivateKey): string | undefined => {
  try {
    findPublic(lib, session, handle)
    return undefined
  } catch (error) {
    if (error instanceof TokenFailure) return error.message
    throw error
  }
}

/**
 * The private keys with this label or id that can be opened. Throws `TokenFailure` when there are only halves of pairs,
 * as an interrupted creation leaves them.
 */
export const findPairs = (lib: PKCS11, session: Handle, by: KeySelector): readonly KeySelector[] => {
  const keys = privateKeys(lib, session, by).map((key) => ({ ...key, flaw: flawOf(lib, session, key) }))
  const whole = keys.filter(({ flaw }) => flaw === undefined)
  const [half] = keys
  if (whole.length > 0 || half === undefined) return whole.map(({ key }) => key)
  const { object, id } = half.key
  const options = [object !== undefined && `--label '${object}'`, id !== undefined && `--id ${id}`].filter(Boolean)
  throw new TokenFailure(
    'refused',
    `the token has a private key ${object ?? id ?? ''} that cannot be opened: ${half.flaw ?? ''}. If an interrupted ` +
      `creation left it, remove it: pkcs11-tool --delete-object --type privkey ${options.join(' ')}`,
  )
}

/** The private keys whose labels begin with `prefix`, halves of pairs included. */
export const listKeys = (lib: PKCS11, session: Handle, prefix: string): readonly KeySelector[] =>
  privateKeys(lib, session, {})
    .map(({ key }) => key)
    .filter(({ object }) => object?.startsWith(prefix) === true)

const inspected = {
  sensitive: [CKA_SENSITIVE, true],
  never_extractable: [CKA_NEVER_EXTRACTABLE, true],
  local: [CKA_LOCAL, true],
  extractable: [CKA_EXTRACTABLE, false],
} as const

/** What the token says of a private key. Throws `TokenFailure` when it can be read, or was not made there. */
export const inspectObject = (
  lib: PKCS11,
  session: Handle,
  by: KeySelector,
): Readonly<Record<string, boolean | 'unknown'>> => {
  const [found, ...more] = privateKeys(lib, session, by)
  if (found === undefined || more.length > 0)
    throw new TokenFailure(
      'refused',
      `${more.length > 0 ? more.length + 1 : 'no'} private keys match; exactly one must`,
    )
  const answers: Record<string, boolean | 'unknown'> = {}
  for (const [name, [type, safe]] of Object.entries(inspected)) {
    const value = read(lib, session, found.handle, type)?.[0]
    if (value !== undefined && (value === 1) !== safe)
      throw new TokenFailure(
        'refused',
        `CKA_${name.toUpperCase()} of the key is ${String(!safe)}: it may exist outside of the token`,
      )
    answers[name] = value === undefined ? 'unknown' : safe
  }
  return answers
}
