import type { KeyObject } from 'node:crypto'
import { algorithms, allAlgorithms, findAlgorithm } from '../keys/algorithms.js'
import { checkPublicJwk } from '../keys/public-key-guard.js'
import type { JwsAlg, PublicJwk } from '../keys/ports.js'

/** A key of a client, for one algorithm: what `verifySignature` wants. */
export interface ClientKey {
  readonly alg: JwsAlg
  readonly jwk: PublicJwk
  readonly publicKey: KeyObject
}

export interface WantedKey {
  /** Of the header; undefined: every key that fits. */
  readonly kid: string | undefined
  readonly alg: JwsAlg
}

/** The keys of one JWK Set (RFC 7517 §5), imported. */
export interface ClientKeySet {
  /** Those that fit, at most 4: a signature is tried on each. */
  select(wanted: WantedKey): readonly ClientKey[]
}

export const maxKeys = 16
const maxCandidates = 4

interface Member {
  readonly kid: string | undefined
  readonly key: ClientKey
}

/** One member for each algorithm that the key may be used with. */
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

const createKeySet = (members: readonly Member[]): ClientKeySet => ({
  select: ({ kid, alg }) =>
    members
      .filter((member) => member.key.alg === alg && (kid === undefined || member.kid === kid))
      .slice(0, maxCandidates)
      .map(({ key }) => key),
})

/** Throws `BadJwk` at the first key that the guard refuses: for sets that were registered. */
export const importKeySet = (keys: readonly unknown[]): ClientKeySet => createKeySet(keys.flatMap(membersOf))

/** RFC 7517 §5: what is not understood in a set is ignored. Keys for other things may stand beside those for us. */
export const importKnownKeys = (keys: readonly unknown[]): ClientKeySet =>
  createKeySet(
    keys.flatMap((key) => {
      try {
        return membersOf(key)
      } catch {
        return []
      }
    }),
  )
