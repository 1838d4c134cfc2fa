import type { KeyObject } from 'node:crypto'
import { algorithms, allAlgorithms, findAlgorithm } from './algorithms.js'
import { keyManagement, type EncryptionKey, type JweAlg } from './encryption.js'
import { checkEncryptionJwk, checkPublicJwk, isForEncryption } from './public-key-guard.js'
import type { JwsAlg, PublicJwk, VerificationKey } from './jwk.js'

/** A key named by the header of a signature, or one exact public key, whatever its use. */
export type WantedKey = NamedKey | { readonly publicKey: KeyObject }

export interface NamedKey {
  /** The `kid` of the header. If undefined, every key that fits is tried. */
  readonly kid: string | undefined
  readonly alg: JwsAlg
}

/** The keys of one JWK Set (RFC 7517 §5), imported. */
export interface KeySet {
  /** The keys that fit, at most 4. The signature is tried with each. */
  select(wanted: WantedKey): readonly VerificationKey[]
  /** The keys with `use: enc` that fit, in the order of the set. */
  selectForEncryption(alg: JweAlg): readonly EncryptionKey[]
}

export const maxKeys = 16
const maxCandidates = 4

interface Member {
  readonly kid: string | undefined
  readonly key: VerificationKey
}

/** One member for each algorithm that the key can be used with. */
const membersOf = (input: unknown): readonly Member[] => {
  const { jwk, publicKey } = checkPublicJwk(input, allAlgorithms)
  const { kid, alg: named } = input as { readonly kid?: string; readonly alg?: string }
  const only = findAlgorithm(named)
  const fitting = allAlgorithms.filter((alg) => (only === undefined || alg === only) && fits(alg, jwk))
  return fitting.map((alg) => ({ kid, key: { alg, jwk, publicKey } }))
}

const fits = (alg: JwsAlg, jwk: PublicJwk): boolean => {
  const { keyType } = algorithms[alg]
  return keyType === ('crv' in jwk ? jwk.crv : jwk.kty)
}

const isWanted = ({ kid, key }: Member, wanted: WantedKey): boolean =>
  'publicKey' in wanted
    ? key.publicKey.equals(wanted.publicKey)
    : key.alg === wanted.alg && (wanted.kid === undefined || kid === wanted.kid)

const createKeySet = (members: readonly Member[], encryption: readonly ForEncryption[]): KeySet => ({
  selectForEncryption: (alg) => encryption.flatMap((one) => one.keyFor(alg) ?? []),
  select: (wanted) =>
    members
      .filter((member) => isWanted(member, wanted))
      .slice(0, maxCandidates)
      .map(({ key }) => key),
})

interface ForEncryption {
  /** Returns undefined when the key is not for this algorithm. */
  keyFor(alg: JweAlg): EncryptionKey | undefined
}

const forEncryption = (input: unknown): ForEncryption => {
  const { jwk, publicKey } = checkEncryptionJwk(input)
  const { kid, alg: only } = input as { readonly kid?: string; readonly alg?: string }
  return {
    keyFor: (alg) =>
      keyManagement[alg].kty === jwk.kty && (only === undefined || only === alg) ? { alg, kid, publicKey } : undefined,
  }
}

/** For registered sets: throws `BadJwk` at the first key that the guard refuses. */
export const importKeySet = (keys: readonly unknown[]): KeySet => {
  const [encryption, others] = [keys.filter(isForEncryption), keys.filter((key) => !isForEncryption(key))]
  return createKeySet(others.flatMap(membersOf), encryption.map(forEncryption))
}

/** The keys with `use: enc` that fit, from a registered set. */
export const findEncryptionKeys = (keys: readonly unknown[], alg: JweAlg): readonly EncryptionKey[] =>
  importKnownKeys(keys.filter(isForEncryption)).selectForEncryption(alg)

/** RFC 7517 §5: keys that are not understood are ignored, so keys for other uses may be in the same set. */
export const importKnownKeys = (keys: readonly unknown[]): KeySet => importKeySet(keys.filter(isUnderstood))

const isUnderstood = (key: unknown): boolean => {
  try {
    if (isForEncryption(key)) checkEncryptionJwk(key)
    else checkPublicJwk(key, allAlgorithms)
    return true
  } catch {
    return false
  }
}
