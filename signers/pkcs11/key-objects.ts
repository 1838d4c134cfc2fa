import { randomBytes } from 'node:crypto'
import type { Handle, PKCS11, Template } from 'pkcs11js'
import type { JwsAlg, PublicJwk } from '../../core/api/signer.js'
import { CKA_EC_PARAMS, CKA_PUBLIC_EXPONENT, domainOf, keyName, mechanisms } from './mechanisms.js'
import { codeOf, TokenFailure } from './return-codes.js'
import type { KeySelector } from './uri.js'

const CKO_PUBLIC_KEY = 2
export const CKO_PRIVATE_KEY = 3
export const CKA_CLASS = 0x0
const CKA_TOKEN = 0x1
const CKA_PRIVATE = 0x2
export const CKA_LABEL = 0x3
const CKA_KEY_TYPE = 0x100
export const CKA_ID = 0x102
export const CKA_SENSITIVE = 0x103
const CKA_DECRYPT = 0x105
const CKA_UNWRAP = 0x107
const CKA_SIGN = 0x108
const CKA_VERIFY = 0x10a
const CKA_DERIVE = 0x10c
const CKA_MODULUS = 0x120
export const CKA_EXTRACTABLE = 0x162
const CKA_EC_POINT = 0x181
const CKR_DEVICE_ERROR = 0x30
const CKR_DEVICE_MEMORY = 0x31
const CKR_DEVICE_REMOVED = 0x32
const CKR_MECHANISM_INVALID = 0x70
const CKR_SESSION_READ_ONLY = 0xb5
const CKR_TOKEN_NOT_PRESENT = 0xe0
const CKR_TOKEN_WRITE_PROTECTED = 0xe2

/** Matches beyond this number are not counted. */
const most = 16

const find = (lib: PKCS11, session: Handle, template: Template): Handle[] => {
  lib.C_FindObjectsInit(session, template)
  try {
    return lib.C_FindObjects(session, most)
  } finally {
    lib.C_FindObjectsFinal(session)
  }
}

export const named = ({ object, id }: KeySelector): Template => [
  ...(object === undefined ? [] : [{ type: CKA_LABEL, value: Buffer.from(object) }]),
  ...(id === undefined ? [] : [{ type: CKA_ID, value: Buffer.from(id, 'hex') }]),
]

/** Undefined when the object lacks the attribute or does not reveal it. */
export const read = (lib: PKCS11, session: Handle, object: Handle, type: number): Buffer | undefined => {
  try {
    const [attribute] = lib.C_GetAttributeValue(session, object, [{ type }])
    return attribute?.value
  } catch (error) {
    const absent = [0x11 /* CKR_ATTRIBUTE_SENSITIVE */, 0x12 /* CKR_ATTRIBUTE_TYPE_INVALID */]
    if (absent.includes(codeOf(error))) return undefined
    throw error
  }
}

/** A `CK_ULONG` has the width of a pointer and the machine's byte order. */
const numberOf = (value: Buffer | undefined): number | undefined =>
  value === undefined || value.length < 4 ? undefined : value.readUInt32LE(0)

export interface FoundKey {
  readonly handle: Handle
  readonly jwk: PublicJwk
}

const adviceFor = ({ object, id }: KeySelector): string => {
  if (id === undefined) return 'name its id too'
  return object === undefined ? 'name its label too, as object' : 'give each key pair a CKA_ID of its own'
}

/** Whether these public halves are one key, compared by the members of its type. False if no member is named. */
export const isSameHalf = (members: readonly string[], a: PublicJwk, b: PublicJwk): boolean => {
  const [left, right] = [new Map<string, unknown>(Object.entries(a)), new Map<string, unknown>(Object.entries(b))]
  return members.length > 0 && members.every((name) => left.has(name) && left.get(name) === right.get(name))
}

/** Counts the matching private keys. */
export const countKeys = (lib: PKCS11, session: Handle, key: KeySelector): number =>
  find(lib, session, [{ type: CKA_CLASS, value: CKO_PRIVATE_KEY }, ...named(key)]).length

/** Undefined when no key matches. Throws `TokenFailure` when several do, or when the only one cannot sign `alg`. */
export const findKey = (lib: PKCS11, session: Handle, key: KeySelector, alg: JwsAlg): FoundKey | undefined => {
  const [handle, ...more] = find(lib, session, [{ type: CKA_CLASS, value: CKO_PRIVATE_KEY }, ...named(key)])
  if (handle === undefined) return undefined
  if (more.length > 0)
    throw new TokenFailure('refused', `${more.length + 1} private keys match; exactly one must (${adviceFor(key)})`)
  if (numberOf(read(lib, session, handle, CKA_KEY_TYPE)) !== mechanisms[alg].keyType)
    throw new TokenFailure('refused', `the key is not of type ${keyName(alg)}, which ${alg} needs`)
  if (read(lib, session, handle, CKA_SIGN)?.[0] !== 1)
    throw new TokenFailure('refused', 'the key may not sign: its attribute CKA_SIGN is false')
  return { handle, jwk: publicHalf(lib, session, handle, alg) }
}

const isEmpty = (value: Buffer | undefined): boolean => value === undefined || value.length === 0

/**
 * The public object of a pair has the id of the private one. If several have it, the label decides; if either object
 * has no id, the label alone counts.
 */
export const findPublic = (lib: PKCS11, session: Handle, handle: Handle): Handle => {
  const id = read(lib, session, handle, CKA_ID)
  const label = read(lib, session, handle, CKA_LABEL)
  const isLabelled = (object: Handle) =>
    read(lib, session, object, CKA_LABEL)?.equals(label ?? Buffer.alloc(0)) === true
  const matching = (by: Template) => find(lib, session, [{ type: CKA_CLASS, value: CKO_PUBLIC_KEY }, ...by])
  const byId = isEmpty(id) ? [] : matching([{ type: CKA_ID, value: id ?? '' }])
  const byLabel = byId.length > 0 || isEmpty(label) ? [] : matching([{ type: CKA_LABEL, value: label ?? '' }])
  const found =
    byId.length > 1
      ? byId.filter(isLabelled)
      : [...byId, ...byLabel.filter((object) => isEmpty(id) || isEmpty(read(lib, session, object, CKA_ID)))]
  const [one, ...more] = found
  if (one !== undefined && more.length === 0) return one
  if (one === undefined && byId.length === 0)
    throw new TokenFailure(
      'refused',
      'the token has no public key object with the id or label of the private key: write one, with the same CKA_ID and CKA_LABEL',
    )
  throw new TokenFailure(
    'refused',
    `${String(Math.max(byId.length, found.length))} public keys have the id or label of the private key, and their labels do not tell which is its own: give each key pair a CKA_ID of its own`,
  )
}

const publicHalf = (lib: PKCS11, session: Handle, handle: Handle, alg: JwsAlg): PublicJwk => {
  const { half } = mechanisms[alg]
  if (half === 'modulus') return rsaHalf(lib, session, handle)
  const { jwk, coordinateBytes: size, parameters } = half
  const ofPrivate = read(lib, session, handle, CKA_EC_PARAMS)
  const holder = findPublic(lib, session, handle)
  const spelling = (ofPrivate ?? read(lib, session, holder, CKA_EC_PARAMS))?.toString('hex')
  if (spelling === undefined || !parameters.includes(spelling))
    throw new TokenFailure('refused', `the key is not on the curve ${jwk.crv}, which ${alg} needs`)
  const point = read(lib, session, holder, CKA_EC_POINT)
  if (jwk.kty === 'OKP') return { ...jwk, x: bare(point, size).toString('base64url') }
  const bytes = bare(point, 2 * size + 1)
  if (bytes[0] !== 4) throw new TokenFailure('refused', 'the point of the public key is not uncompressed')
  const [x, y] = [bytes.subarray(1, 1 + size), bytes.subarray(1 + size)].map((part) => part.toString('base64url'))
  return { ...jwk, x: x ?? '', y: y ?? '' }
}

/** PKCS#11 2.40 §2.3.3: the point is wrapped in a DER octet string, which some tokens omit. */
const bare = (point: Buffer | undefined, length: number): Buffer => {
  if (point?.length === length) return point
  if (point?.length === length + 2 && point[0] === 0x04 && point[1] === length) return point.subarray(2)
  throw new TokenFailure('refused', 'the point of the public key cannot be read')
}

const rsaHalf = (lib: PKCS11, session: Handle, handle: Handle): PublicJwk => {
  const ofPrivate = (type: number) => read(lib, session, handle, type)
  const n = ofPrivate(CKA_MODULUS)
  const e = ofPrivate(CKA_PUBLIC_EXPONENT) ?? read(lib, session, findPublic(lib, session, handle), CKA_PUBLIC_EXPONENT)
  if (n === undefined || e === undefined)
    throw new TokenFailure('refused', 'the token does not return the public half of the key')
  return { kty: 'RSA', n: shortest(n).toString('base64url'), e: shortest(e).toString('base64url') }
}

/** RFC 7518 §2, Base64urlUInt: leading zeros, which some tokens return, are removed. */
const shortest = (bytes: Buffer): Buffer => {
  const first = bytes.findIndex((byte) => byte !== 0)
  return bytes.subarray(first < 0 ? bytes.length : first)
}

/** Uses that a signing key must not have. */
const otherUses = { DECRYPT: CKA_DECRYPT, UNWRAP: CKA_UNWRAP, DERIVE: CKA_DERIVE } as const

/** Generates a key pair from the template, without naming the forbidden uses when `full` is false. */
const generate = (lib: PKCS11, session: Handle, label: string, alg: JwsAlg, full: boolean) => {
  const id = randomBytes(8)
  const shared = [
    { type: CKA_TOKEN, value: true },
    { type: CKA_LABEL, value: Buffer.from(label) },
    { type: CKA_ID, value: id },
  ]
  const { privateKey } = lib.C_GenerateKeyPair(
    session,
    { mechanism: mechanisms[alg].generate },
    [
      ...shared,
      ...domainOf(alg),
      { type: CKA_PRIVATE, value: false },
      ...(full ? [{ type: CKA_VERIFY, value: true }] : []),
    ],
    [
      ...shared,
      { type: CKA_PRIVATE, value: true },
      { type: CKA_SENSITIVE, value: true },
      { type: CKA_EXTRACTABLE, value: false },
      { type: CKA_SIGN, value: true },
      ...(full ? Object.values(otherUses).map((type) => ({ type, value: false })) : []),
    ],
  )
  return { handle: privateKey, key: { object: label, id: id.toString('hex') } }
}

/** Why a token makes no key, in words for the operator. */
const refusals: ReadonlyMap<number, string> = new Map([
  [CKR_DEVICE_MEMORY, 'the token has no space for another key pair (CKR_DEVICE_MEMORY): remove keys that are not used'],
  [CKR_SESSION_READ_ONLY, 'the token lets this user only read (CKR_SESSION_READ_ONLY): it makes no keys for Signet'],
  [CKR_TOKEN_WRITE_PROTECTED, 'the token is write-protected (CKR_TOKEN_WRITE_PROTECTED): it makes no keys'],
])

/** Whether the token, not the template, is the reason for the failure. */
const isPermanent = (error: unknown): boolean =>
  [CKR_DEVICE_ERROR, CKR_DEVICE_REMOVED, CKR_TOKEN_NOT_PRESENT, CKR_MECHANISM_INVALID, ...refusals.keys()].includes(
    codeOf(error),
  )

/** Throws what the token refused in words, and anything else as it is. */
export const rephrase = (error: unknown): never => {
  const words = refusals.get(codeOf(error))
  throw words === undefined ? error : new TokenFailure('refused', words)
}

/**
 * Creates a key pair that never leaves the token and only signs, and reads it back. Some tokens accept no template
 * that forbids uses: the second attempt contains the essentials only, and `otherUses` names the uses that the token
 * left allowed. `session` must be writable.
 */
export const makeKey = (
  lib: PKCS11,
  session: Handle,
  label: string,
  alg: JwsAlg,
): { readonly key: KeySelector; readonly otherUses: readonly string[] } => {
  const made = attemptTwice(
    (full) => generate(lib, session, label, alg, full),
    () => countKeys(lib, session, { object: label }) === 0,
  )
  const isOn = (type: number) => read(lib, session, made.handle, type)?.[0] === 1
  if (isOn(CKA_EXTRACTABLE) || read(lib, session, made.handle, CKA_SENSITIVE)?.[0] === 0)
    throw new TokenFailure(
      'refused',
      `the token made the key ${label} so that it can be read: remove it from the token`,
    )
  const left = Object.entries(otherUses).filter(([, type]) => isOn(type))
  return { key: made.key, otherUses: left.map(([name]) => `CKA_${name}`) }
}

/** No second attempt follows one that has left a key behind, whatever the token answered. */
const attemptTwice = <T>(attempt: (full: boolean) => T, isWithoutKey: () => boolean): T => {
  try {
    return attempt(true)
  } catch (error) {
    if (isPermanent(error) || !isWithoutKey()) throw error
    return attempt(false)
  }
}
