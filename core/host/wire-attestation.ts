import type { Config } from '../../config/schema.js'
import { createAttestationTokens, type AttestationTokens } from '../attestation/attestation-token.js'
import { createCheckProof } from '../attestation/challenge-proof.js'
import { createChallenges } from '../attestation/challenges.js'
import { createEnrolmentKeys } from '../attestation/enrolment-keys.js'
import type { EvidenceChallenges } from '../attestation/evidence-challenges.js'
import { createAttestationLimits } from '../attestation/limits.js'
import { createSecondFactors } from '../attestation/second-factor.js'
import { createPrincipalStatus } from '../attestation/status.js'
import type { Clock } from '../clock.js'
import { createChallenge } from '../endpoints/attestation/challenge.js'
import { createEnrolComplete } from '../endpoints/attestation/enrol-complete.js'
import { createEnrol } from '../endpoints/attestation/enrol.js'
import type { Endpoint } from '../endpoints/message.js'
import type { RateLimits } from '../endpoints/rate-limits.js'
import type { Refusals } from '../endpoints/refusals.js'
import { createReissue } from '../endpoints/attestation/reissue.js'
import type { Endpoints } from '../http/routes.js'
import type { KeyRing } from '../keys/ports.js'
import type { AuditLog } from '../observe/audit.js'
import type { Collections } from './collections.js'
import type { Registries } from '../modules/registries.js'

export interface AttestationParts {
  readonly ring: KeyRing
  readonly clock: Clock
  readonly audit: AuditLog
  readonly refusals: Refusals
  readonly registries: Pick<Registries, 'secondFactors' | 'statusProvider'>
  readonly stored: Pick<Collections, 'challenges' | 'attempts'>
  readonly evidence: EvidenceChallenges
  readonly rateLimits: RateLimits
}

/** What signs attestations, and reads them; undefined without the section `attestation`. */
export const wireAttestationTokens = (
  { attestation: section, issuer, clock_tolerance_secs: toleranceSeconds }: Config,
  { ring, clock }: Pick<AttestationParts, 'ring' | 'clock'>,
): AttestationTokens | undefined => {
  if (section === undefined) return undefined
  const { attestation_ttl_secs: ttlSeconds, reissue_grace_secs: graceSeconds, signing_alg: alg, typ } = section
  return createAttestationTokens({ issuer, ring, clock, toleranceSeconds, ttlSeconds, graceSeconds, alg, typ })
}

/** The ceremony; undefined without the section `attestation`: then nothing of it exists. */
export const wireAttestation = (config: Config, parts: AttestationParts): Endpoints['attestation'] => {
  const { attestation: section, issuer, clock_tolerance_secs: toleranceSeconds } = config
  const tokens = wireAttestationTokens(config, parts)
  if (section === undefined || tokens === undefined) return undefined
  const { clock, audit, refusals, registries, stored, evidence, rateLimits } = parts
  const limit = config.rate_limits.attestation
  const limits = createAttestationLimits({
    attempts: stored.attempts,
    clock,
    keyPerMinute: limit.key_per_minute,
    subjectPerMinute: limit.subject_per_minute,
    principalFree: limit.principal_free,
    hits: rateLimits.hits,
  })
  const limited = (name: string, endpoint: Endpoint) =>
    rateLimits.byRefusals(
      config.rate_limits.refused.address_per_minute,
      rateLimits.byAddress(name, limit.address_per_minute, endpoint),
    )
  const begin = (endpoint: Endpoint) => limited('attestation', endpoint)
  // Counted by themselves: what an address could begin it can complete, although each ceremony asks more than once.
  const end = (endpoint: Endpoint) => limited('attestation_completion', endpoint)
  const keys = createEnrolmentKeys()
  const status = createPrincipalStatus(registries.statusProvider)
  const challenges = createChallenges(stored.challenges, section.challenge_ttl_secs)
  const { attestation_ttl_secs: ttlSeconds, require_audience_in_proof: requireAudience } = section
  const enrol = createEnrol({
    limits,
    keys,
    allowedAttributes: section.attributes?.allow,
    factors: createSecondFactors(registries.secondFactors),
    status,
    tokens,
    challenges,
    audit,
    refusals,
    clock,
  })
  const complete = createEnrolComplete({
    challenges,
    checkProof: createCheckProof({ issuer, clock, toleranceSeconds, requireAudience, keys }),
    limits,
    status,
    tokens,
    ttlSeconds,
    reissueAfterSeconds: section.attestation_reissue_after_secs,
    audit,
    refusals,
  })
  const reissue = createReissue({
    tokens,
    keys,
    limits,
    status,
    challenges,
    maxContinuitySeconds: section.max_continuity_secs,
    audit,
    refusals,
    clock,
  })
  const challenge = createChallenge({ evidence, refusals })
  return { enrol: begin(enrol), complete: end(complete), reissue: begin(reissue), challenge: begin(challenge) }
}
