import { hash } from 'node:crypto'
import { isSameTarget } from '../wire/htu.js'
import { isOfType } from '../wire/media-type.js'
import { maxIdLength } from '../wire/request-claims.js'
import { importIssuerKey, type IssuerKey } from './issuer-key.js'
import { readCompact, type JsonObject } from './jws.js'
import { membersOf } from './public-jwk.js'
import { VerificationError } from './refusal.js'
import { TokenRefused } from './token-refusal.js'

/** Seconds that a proof is valid after its `iat`. */
const maxAge = 60
/** Characters. */
const longestProof = 4096
/** How many keys are cached, because importing one takes as long as a verification. */
const maxKeysKept = 10_000

/** What a proof must be about. */
export interface Proven {
  /** The value of the header `DPoP`. */
  readonly proof: string | undefined
  readonly method: string
  readonly url: string
  readonly accessToken: string
  /** `cnf.jkt` of the access token. */
  readonly jkt: string
  /** Seconds since the epoch. */
  readonly now: number
  readonly acceptsNonce: (nonce: unknown) => boolean
}

/** The key under which a proof is remembered, and until when (seconds since the epoch). */
export interface UsedProof {
  readonly id: string
  readonly until: number
}

/** Checks DPoP proofs at a protected resource (RFC 9449 §4.3, §7). Throws refusals. `skew` is in seconds. */
export const createDpopProofs = (skew: number) => {
  const keys = new Map<string, IssuerKey>()

  /** Only keys that an issuer has bound to a token reach this cache. */
  const keyOf = (members: JsonObject, jkt: string): IssuerKey => {
    const known = keys.get(jkt)
    if (known) return known
    const key = importIssuerKey(members)
    if (!key) throw new TokenRefused('bad_proof_key')
    const [oldest] = keys.keys()
    if (keys.size >= maxKeysKept && oldest !== undefined) keys.delete(oldest)
    keys.set(jkt, key)
    return key
  }

  return ({ proof, method, url, accessToken, jkt, now, acceptsNonce }: Proven): UsedProof => {
    if (proof === undefined) throw new TokenRefused('missing_proof')
    const { header, payload, input, signature } = read(proof)
    if (!isOfType(header['typ'], 'dpop+jwt')) throw new TokenRefused('malformed_proof')
    const members = membersOf(header['jwk'])
    if (!members) throw new TokenRefused('bad_proof_key')
    if (hash('sha256', JSON.stringify(members), 'base64url') !== jkt) throw new TokenRefused('key_not_bound')
    const key = keyOf(members, jkt)
    if (!key.algs.includes(header['alg'] as string)) throw new TokenRefused('bad_proof_key')
    if (!key.verifies(header['alg'], input, signature)) throw new TokenRefused('bad_proof')

    const { htm, htu, ath, iat, jti, nonce } = payload
    if (typeof jti !== 'string' || jti === '' || jti.length > maxIdLength) throw new TokenRefused('malformed_proof')
    if (htm !== method) throw new TokenRefused('method_mismatch')
    if (typeof htu !== 'string' || !isSameTarget(htu, url)) throw new TokenRefused('target_mismatch')
    if (ath !== hash('sha256', accessToken, 'base64url')) throw new TokenRefused('token_mismatch')
    // Fractions are accepted, because some clients send them.
    if (typeof iat !== 'number' || now > iat + maxAge + skew || now < iat - skew)
      throw new TokenRefused('proof_expired')
    if (!acceptsNonce(nonce)) throw new TokenRefused('use_dpop_nonce')
    return { id: `${jkt}.dpop.${jti}`, until: iat + maxAge + skew }
  }
}

const read = (proof: string) => {
  if (proof.length > longestProof) throw new TokenRefused('malformed_proof')
  try {
    return readCompact(proof)
  } catch (error) {
    throw error instanceof VerificationError ? new TokenRefused('malformed_proof', error) : error
  }
}
