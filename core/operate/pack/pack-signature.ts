import { isOfType } from '../../../libraries/wire/media-type.js'
import { findAlgorithm } from '../../jose/algorithms.js'
import { parseCompactJws } from '../../jose/compact-jws.js'
import type { JwsAlg, VerificationKey } from '../../jose/jwk.js'
import { importKnownKeys } from '../../jose/key-set.js'
import { checkPublicJwk } from '../../jose/public-key-guard.js'
import { isSignedByAny } from '../../jose/verify-signature.js'
import { packType } from './pack.js'

/** Whose signature it is. */
export interface PackSigned {
  /** The exact bytes that were signed. */
  readonly payload: Buffer
  readonly kid: string
  readonly alg: string
  /** The thumbprint of the verifying key (RFC 7638). */
  readonly thumbprint: string
}

/** A key without a name may be any of them. */
const selectKeys = (trusted: readonly unknown[], alg: JwsAlg, kid: string): readonly VerificationKey[] => {
  const known = importKnownKeys(trusted)
  const named = known.select({ alg, kid })
  return named.length > 0 ? named : known.select({ alg, kid: undefined })
}

/**
 * Verifies the signature of a pack with one of `trusted`, or, without any, with the key that it names itself. Returns
 * what is wrong in constant words.
 */
export const verifyPackSignature = async (
  text: string,
  trusted: readonly unknown[] | undefined,
): Promise<PackSigned | string> => {
  const jws = parseCompactJws(text)
  if (jws === undefined) return 'is not a signature'
  const { alg: named, kid, typ, jwk } = jws.header
  if (!isOfType(typ, packType)) return 'signs something else than a pack'
  const alg = findAlgorithm(named)
  if (alg === undefined || typeof kid !== 'string') return 'names no algorithm or key that is accepted'
  for (const key of selectKeys(trusted ?? [jwk], alg, kid))
    if (await isSignedByAny(jws, [key])) {
      const payload = Buffer.from(text.split('.')[1] ?? '', 'base64url')
      return { payload, kid, alg, thumbprint: checkPublicJwk(key.jwk, [alg]).thumbprint }
    }
  return trusted === undefined ? 'does not verify with the key that it names' : 'does not verify with the given key'
}
