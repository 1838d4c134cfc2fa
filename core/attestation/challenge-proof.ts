import { isOfType } from '../../libraries/wire/media-type.js'
import { epochSeconds, type Clock } from '../clock.js'
import type { JsonObject } from '../json.js'
import { isNumericDate } from '../jose/claim-times.js'
import { parseCompactJws } from '../jose/compact-jws.js'
import { parseStrictJsonObject } from '../../libraries/wire/strict-json.js'
import { verifySignature } from '../jose/verify-signature.js'
import { hashOpaqueToken } from '../opaque-token.js'
import type { OpenChallenge } from './challenges.js'
import type { EnrolmentKeys } from './enrolment-keys.js'
import { attestationError } from './errors.js'
import { isSameText } from '../oauth/same-text.js'

export interface ChallengeProofOptions {
  readonly issuer: string
  readonly clock: Clock
  readonly toleranceSeconds: number
  /** Whether to refuse a proof without an audience. */
  readonly requireAudience: boolean
  readonly keys: EnrolmentKeys
}

const maxLength = 2048
const form = /^[\w-]+\.[\w-]+\.[\w-]*$/
/** Accepted types: generic ones, and the specific one. A signature made for another purpose has another type. */
const acceptedTypes = [undefined, 'JWT', 'JOSE', 'enrol-proof+jws']

const refuse = (reason: string): never => {
  throw attestationError('ChallengeSignatureInvalid', { reason })
}

/** Reads the header of an otherwise invalid JWS, so that the client can learn that its algorithm is wrong. */
const readHeader = (text: string): JsonObject | undefined =>
  parseStrictJsonObject(Buffer.from(text.slice(0, text.indexOf('.')), 'base64url'))

/**
 * Verifies `challenge_signature`: it must be ES256 by the stored key over this challenge. Keys in its header are
 * ignored. Throws `BadAlg` and `ChallengeSignatureInvalid`.
 */
export const createCheckProof = (options: ChallengeProofOptions) => {
  const { issuer, clock, toleranceSeconds, requireAudience, keys } = options

  /**
   * A bare challenge is enough (docs/design/decisions.md#8-attestation). Any further claims in the payload must be
   * correct.
   */
  const checkClaims = ({ aud, iss, iat, challenge }: JsonObject, { id, record }: OpenChallenge): void => {
    const { principal, issuedAt, jkt } = record
    if (typeof challenge !== 'string' || !isSameText(hashOpaqueToken(challenge), id))
      refuse('it is for another challenge')
    if (aud === undefined ? requireAudience : (Array.isArray(aud) && aud.length === 1 ? aud[0] : aud) !== issuer)
      refuse('aud is not the issuer')
    if (iss !== undefined && iss !== principal.subject && iss !== principal.principalId && iss !== jkt)
      refuse('iss is neither the principal nor the key')
    if (iat === undefined) return
    const now = epochSeconds(clock)
    if (!isNumericDate(iat) || iat < issuedAt - toleranceSeconds || iat > now + toleranceSeconds)
      refuse('iat is too old or in the future')
  }

  return async (text: string, open: OpenChallenge): Promise<void> => {
    if (text.length > maxLength || !form.test(text)) refuse('not a compact JWS')
    const jws = parseCompactJws(text)
    const header = jws?.header ?? readHeader(text)
    if (header !== undefined && header['alg'] !== 'ES256') throw attestationError('BadAlg')
    if (jws === undefined) return refuse('not a strict compact JWS')
    if (!isOfType(jws.header['typ'], ...acceptedTypes)) refuse('typ is not that of a challenge proof')
    checkClaims(jws.payload, open)
    const key = keys.check(open.record.jwk)
    if (!(await verifySignature(key, jws.signingInput, jws.signature))) refuse('wrong signature')
  }
}
