import { createHash, createPublicKey, type KeyObject, type webcrypto } from 'node:crypto'
import {
  algorithms,
  allAlgorithms,
  findAlgorithm,
  keyTypeOf,
  keyTypes,
  publicExponent,
  publicMembers,
  secretJwkMembers,
  type KeyType,
  type KeyTypeRow,
} from './algorithms.js'
import { isJweAlg, keyManagement } from './encryption.js'
import type { JwsAlg, PublicJwk } from './jwk.js'

/** Reasons for refusing a key. The texts are constant and reveal nothing about the key. */
export const badJwkReasons = {
  shape: 'The key is not a JSON object.',
  size: 'The key has too many members.',
  secret: 'The key has private or symmetric members.',
  type: 'The type of key is not accepted.',
  use: 'The key is not for verification or encryption with an accepted algorithm.',
  spelling: 'The key is not in canonical form.',
  value: 'The key is not a valid public key.',
  modulus: 'The RSA modulus must have 2048 to 4096 bits.',
  exponent: 'The RSA public exponent must be 65537.',
} as const

/** A public key from outside was refused. Callers map it to their own error; the guard throws nothing else. */
export class BadJwk extends Error {
  override readonly name = 'BadJwk'
  readonly reason: keyof typeof badJwkReasons

  constructor(reason: keyof typeof badJwkReasons) {
    super(badJwkReasons[reason])
    this.reason = reason
  }
}

export interface GuardedKey {
  /** Contains the required members only. */
  readonly jwk: PublicJwk
  readonly publicKey: KeyObject
  /** SHA-256, base64url (RFC 7638). */
  readonly thumbprint: string
}

const maxMembers = 32

/**
 * Checks every public key that comes from outside: client metadata, DPoP proofs, enrolment, and the public halves of
 * our own keys. `input` is any parsed JSON value; `allowed` are the algorithms accepted at that place. Only the
 * canonical spelling passes, because Node and jose import several spellings of one key, each with its own thumbprint.
 * Throws only `BadJwk`.
 */
export const checkPublicJwk = (input: unknown, allowed: readonly JwsAlg[]): GuardedKey =>
  checkKey(input, (members, type) => checkUse(members, type, allowed))

/** Like `checkPublicJwk`, for a key with `use: enc`: we encrypt to it, and it verifies nothing. Throws `BadJwk`. */
export const checkEncryptionJwk = (input: unknown): GuardedKey => checkKey(input, checkEncryptionUse)

type CheckUse = (members: Members, type: KeyType) => void

const checkKey = (input: unknown, checkUseOf: CheckUse): GuardedKey => {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) throw new BadJwk('shape')
  const members = ownMembers(input)
  if (secretJwkMembers.some((name) => members.has(name))) throw new BadJwk('secret')
  const type = checkKeyType(members)
  checkUseOf(members, type)
  checkKid(members)
  const row = keyTypes[type]
  const spelled = checkSpelling(members, row)
  if (row.modulusBits !== undefined) checkModulus(spelled['n'] ?? '', spelled['e'], row.modulusBits)
  if (row.isPoint?.(Buffer.from(spelled['x'] ?? '', 'base64url')) === false) throw new BadJwk('value')
  const publicKey = importKey(spelled)
  // Computed after the import, so that a thumbprint always stands for a key that exists. RFC 7638 §3: members in this
  // order, no spaces.
  const canonical = JSON.stringify(Object.fromEntries(row.members.map((name) => [name, spelled[name]])))
  const thumbprint = createHash('sha256').update(canonical).digest('base64url')
  return { jwk: Object.freeze(spelled) as unknown as PublicJwk, publicKey, thumbprint }
}

const exponent = BigInt(`0x${Buffer.from(publicExponent, 'base64url').toString('hex')}`)

/**
 * The same rule for a key from a certificate: its type must be supported and, for RSA, its modulus and exponent
 * accepted. Verifying with any other key may cost many times as much.
 */
export const isAcceptedKey = ({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean => {
  const nodeType = type === 'rsa-pss' ? 'rsa' : type
  const row = Object.values(keyTypes).find(
    ({ node }) => node.type === nodeType && node.namedCurve === details?.namedCurve,
  )
  if (row?.modulusBits === undefined) return row !== undefined
  return details?.publicExponent === exponent && isLength(details.modulusLength ?? 0, row.modulusBits)
}

/** Whether a key declares that it is for encryption (RFC 7517 §4.2). Nothing else is checked. */
export const isForEncryption = (input: unknown): boolean =>
  typeof input === 'object' && input !== null && 'use' in input && input.use === 'enc'

/**
 * Why the guard refuses this key when all algorithms are allowed, or undefined when it passes. Used with
 * `reportFault`.
 */
export const findJwkFault = (input: unknown): string | undefined =>
  findFault(() => checkPublicJwk(input, allAlgorithms))

/** Like `findJwkFault`, for a key that may also be for encryption. */
export const findClientJwkFault = (input: unknown): string | undefined =>
  isForEncryption(input) ? findFault(() => checkEncryptionJwk(input)) : findJwkFault(input)

/**
 * A key that contradicts itself, such as an EC key for RS256, is not foreign but wrong; and HS256 would make a secret
 * of a public value.
 */
const isForOthers = ({ alg, use }: { readonly alg?: unknown; readonly use?: unknown }): boolean =>
  typeof alg === 'string'
    ? findAlgorithm(alg) === undefined && !/^(?:HS|none$)/i.test(alg)
    : typeof use === 'string' && use !== 'sig' && use !== 'enc'

/**
 * Whether the key has a type or use that is not supported here. Such a member of a set is ignored (RFC 7517 §5), but
 * a supported key with a fault is refused.
 */
export const isForeignJwk = (input: unknown): boolean => {
  try {
    if (isForEncryption(input)) checkEncryptionJwk(input)
    else checkPublicJwk(input, allAlgorithms)
    return false
  } catch (error) {
    if (!(error instanceof BadJwk)) throw error
    return error.reason === 'type' || (error.reason === 'use' && isForOthers(input as object))
  }
}

const findFault = (check: () => unknown): string | undefined => {
  try {
    check()
    return undefined
  } catch (error) {
    if (!(error instanceof BadJwk)) throw error
    return error.message
  }
}

type Members = ReadonlyMap<string, unknown>

const ownMembers = (input: object): Members => {
  const entries = Object.entries(input)
  if (entries.length > maxMembers) throw new BadJwk('size')
  return new Map(entries)
}

/**
 * Requires exactly the parameters of the type. A `y` beside an Ed25519 `x`, or an `n` in an EC key, would be two keys
 * in one.
 */
const checkKeyType = (members: Members): KeyType => {
  const type = keyTypeOf({ kty: members.get('kty'), crv: members.get('crv') })
  if (type === undefined) throw new BadJwk('type')
  const required = keyTypes[type].members
  if (publicMembers.some((name) => members.has(name) !== required.includes(name))) throw new BadJwk('type')
  return type
}

/** RFC 7517 §4.2–§4.4: what the key declares must not contradict how it is used. */
const checkUse = (members: Members, type: KeyType, allowed: readonly JwsAlg[]): void => {
  const fitting = allowed.filter((alg) => algorithms[alg].keyType === type)
  if (fitting.length === 0) throw new BadJwk('type')
  if (members.has('alg')) {
    const alg = findAlgorithm(members.get('alg'))
    if (alg === undefined || !fitting.includes(alg)) throw new BadJwk('use')
  }
  if (members.has('use') && members.get('use') !== 'sig') throw new BadJwk('use')
  if (members.has('key_ops')) {
    const operations = members.get('key_ops')
    if (!Array.isArray(operations) || operations.length !== 1 || operations[0] !== 'verify') throw new BadJwk('use')
  }
}

const encryptionOperations: readonly unknown[] = ['encrypt', 'wrapKey', 'deriveKey', 'deriveBits']

/** A key must declare encryption in `use`; otherwise it is for signatures, and those are never encrypted to. */
const checkEncryptionUse = (members: Members, type: KeyType): void => {
  if (members.get('use') !== 'enc') throw new BadJwk('use')
  const { kty } = keyTypes[type]
  const alg = members.get('alg')
  if (members.has('alg') && !(isJweAlg(alg) && keyManagement[alg].kty === kty)) throw new BadJwk('use')
  if (!Object.values(keyManagement).some((row) => row.kty === kty)) throw new BadJwk('type')
  const operations = members.get('key_ops')
  if (
    operations !== undefined &&
    !(Array.isArray(operations) && operations.every((name) => encryptionOperations.includes(name)))
  )
    throw new BadJwk('use')
}

const checkKid = (members: Members): void => {
  const kid = members.get('kid')
  if (members.has('kid') && (typeof kid !== 'string' || kid.length > 256)) throw new BadJwk('shape')
}

const maxParameterBytes = (row: KeyTypeRow): number => row.coordinateBytes ?? (row.modulusBits?.max ?? 0) / 8

/**
 * Requires base64url without padding, spaces or trailing bits, and the exact length where it is fixed (RFC 7518
 * §6.2.1.2).
 */
const checkSpelling = (members: Members, row: KeyTypeRow): Record<string, string> => {
  const spelled: Record<string, string> = { kty: row.kty }
  if (row.crv !== undefined) spelled['crv'] = row.crv
  for (const name of row.members) {
    if (name === 'kty' || name === 'crv') continue
    const text = members.get(name)
    if (typeof text !== 'string') throw new BadJwk('shape')
    if (text.length > Math.ceil((maxParameterBytes(row) * 4) / 3))
      throw new BadJwk(name === 'n' ? 'modulus' : 'spelling')
    const bytes = Buffer.from(text, 'base64url')
    if (bytes.toString('base64url') !== text) throw new BadJwk('spelling')
    if (row.coordinateBytes !== undefined && bytes.length !== row.coordinateBytes) throw new BadJwk('spelling')
    spelled[name] = text
  }
  return spelled
}

type ModulusBits = NonNullable<KeyTypeRow['modulusBits']>

const isLength = (length: number, { min, max }: ModulusBits): boolean => length >= min && length <= max

const checkModulus = (n: string, e: string | undefined, bits: ModulusBits): void => {
  if (e !== publicExponent) throw new BadJwk('exponent')
  const bytes = Buffer.from(n, 'base64url')
  const first = bytes[0] ?? 0
  const length = bytes.length * 8 - (Math.clz32(first) - 24)
  if (!isLength(length, bits)) throw new BadJwk('modulus')
  if (((bytes.at(-1) ?? 0) & 1) === 0) throw new BadJwk('value')
}

/**
 * OpenSSL refuses points off their curve. What it accepts must export unchanged, which a modulus with leading zeros
 * does not (RFC 7518 §6.3.1.1).
 */
const importKey = (spelled: Record<string, string>): KeyObject => {
  let publicKey: KeyObject
  let exported: webcrypto.JsonWebKey & Record<string, unknown>
  try {
    publicKey = createPublicKey({ key: spelled, format: 'jwk' })
    exported = publicKey.export({ format: 'jwk' })
  } catch {
    throw new BadJwk('value')
  }
  if (Object.entries(spelled).some(([name, text]) => exported[name] !== text)) throw new BadJwk('spelling')
  return publicKey
}
