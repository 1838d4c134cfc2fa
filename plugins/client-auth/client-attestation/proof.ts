import { epochSeconds, OAuthError, type Client, type JsonObject, type Services } from '../../../core/api/index.js'
import type { EphemeralReplayGuard } from '../../../core/api/storage.js'
import {
  acceptedAlgorithms,
  findTimeFault,
  isJti,
  isNumericDate,
  readJwtHeader,
  verifySignature,
  type TimeRules,
} from '../../../core/api/internal.js'
import { refusal, type InstanceKey, type Presented } from './attestation.js'

/** draft-ietf-oauth-attestation-based-client-auth §5.1. */
const types = ['oauth-client-attestation-pop+jwt']

/** Seconds that a proof is valid after its `iat`. */
const maxAge = 300
/** Seconds beyond any request's deadline. */
const maxRequestSeconds = 30

export interface ProofRules extends TimeRules {
  readonly issuer: string
  readonly requireChallenge: boolean
  readonly challenges: Services['evidenceChallenges']
  readonly used: EphemeralReplayGuard
}

/**
 * For this server only: anyone else it names could use it here (CVE-2025-27370). Drafts before the eighth have an
 * `iss`.
 */
const checkClaims = ({ iss, aud, iat, exp, nbf, jti }: JsonObject, client: Client, rules: ProofRules) => {
  if (aud !== rules.issuer) throw refusal('aud of the proof is not the issuer as one string')
  if (iss !== undefined && iss !== client.client_id) throw refusal('iss of the proof is not the client')
  if (!isNumericDate(iat)) throw refusal('iat of the proof is missing or not a time')
  const end = iat + maxAge
  const fault = findTimeFault({ iat, exp: exp ?? end, ...(nbf !== undefined && { nbf }) }, rules)
  if (fault !== undefined) throw refusal(`the proof: ${fault}`)
  const now = epochSeconds(rules.clock)
  if (end + rules.toleranceSeconds <= now) throw refusal('the proof is too old')
  if (!isJti(jti)) throw refusal('jti of the proof is missing or too long')
  return { jti, iat }
}

const useChallenge = async (challenge: unknown, { challenges, requireChallenge }: ProofRules): Promise<void> => {
  if (challenge === undefined && !requireChallenge) return
  if (typeof challenge === 'string' && (await challenges.redeem(challenge))) return
  throw new OAuthError('use_attestation_challenge', 'The proof must contain the challenge of this response.', {
    reason: challenge === undefined ? 'no challenge' : 'a challenge that is unknown, expired or used',
    headers: { 'OAuth-Client-Attestation-Challenge': await challenges.issue() },
  })
}

/** §7.2. Returns the thumbprint of the key. Throws `invalid_client`, `use_attestation_challenge`, `Unavailable`. */
export const checkProof = async (
  { jws }: Presented,
  keyOf: InstanceKey,
  client: Client,
  rules: ProofRules,
): Promise<string> => {
  const wanted = readJwtHeader(jws.header, { types, accepted: acceptedAlgorithms(client) })
  if (typeof wanted === 'string') throw refusal(`the proof: ${wanted}`)
  const key = keyOf(wanted.alg)
  const { jti, iat } = checkClaims(jws.payload, client, rules)
  if (!(await verifySignature(key, jws.signingInput, jws.signature))) throw refusal('wrong signature of the proof')
  await useChallenge(jws.payload['challenge'], rules)
  // Lasts until no replica accepts it any more, with a clock that may be behind ours, and until a request in progress
  // has ended.
  const ttlSeconds =
    Math.ceil(iat) + maxAge + 2 * rules.toleranceSeconds + maxRequestSeconds - epochSeconds(rules.clock)
  const earliest = Math.floor((iat - 2 * rules.toleranceSeconds) * 1000)
  // Keyed by the key, so that no instance can use up the ids of another.
  if (!(await rules.used.claim(key.thumbprint, jti, ttlSeconds, earliest))) throw refusal('the proof was used before')
  return key.thumbprint
}
