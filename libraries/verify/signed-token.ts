import type { IssuerKey } from './issuer-key.js'
import { readCompact, type JsonObject } from './jws.js'
import type { KeySets } from './key-sets.js'
import { refused, type RefusalReason } from './refusal.js'

/** What every kind of token states about itself. */
export interface SignedToken {
  readonly issuer: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

export interface SignedTokenOptions<T> {
  readonly keySets: KeySets
  /** Seconds. */
  readonly skew: number
  readonly isType: (typ: unknown) => boolean
  /** Extracts the claims of a token whose signature was verified. Throws refusals. */
  readonly read: (issuer: string, claims: JsonObject) => T
  readonly wrongSignature: RefusalReason
}

interface Known<T> {
  readonly token: T
  readonly kid: string
  readonly key: IssuerKey
}

/** How many verified tokens are cached, at about 3 kB each. */
const maxKnownTokens = 10_000

/** Verifies tokens of trusted issuers, and caches verified ones while their key is published. */
export const createSignedTokenReader = <T extends SignedToken>(options: SignedTokenOptions<T>) => {
  const { keySets, skew, isType, read, wrongSignature } = options
  const known = new Map<string, Known<T>>()

  const remember = (text: string, verified: Known<T>, now: number): void => {
    if (known.size >= maxKnownTokens)
      for (const [old, { token }] of known) {
        if (known.size < maxKnownTokens && now <= token.expiresAt + skew) break
        known.delete(old)
      }
    known.set(text, verified)
  }

  const verify = async (text: string): Promise<Known<T>> => {
    const { header, payload, input, signature } = readCompact(text)
    const { alg, kid, typ } = header
    const issuer = payload['iss']
    if (!keySets.trusts(issuer)) throw refused('untrusted_issuer')
    if (typeof kid !== 'string') throw refused('unknown_kid')
    const key = await keySets.find(issuer, kid)
    if (!key.algs.includes(alg as string)) throw refused('bad_alg')
    if (!key.verifies(alg, input, signature)) throw refused(wrongSignature)
    if (!isType(typ)) throw refused('wrong_type')
    return { token: read(issuer, payload), kid, key }
  }

  /** The caller must check whether it is valid at `now` (seconds since the epoch). Throws refusals. */
  return async (text: string, now: number): Promise<T> => {
    const remembered = known.get(text)
    if (remembered && (await keySets.find(remembered.token.issuer, remembered.kid)) === remembered.key)
      return remembered.token
    known.delete(text)
    const verified = await verify(text)
    remember(text, verified, now)
    return verified.token
  }
}
