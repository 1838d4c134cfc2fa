import { readKeyCertificates } from '../certificates/key-certificates.js'
import type { Config } from '../../config/schema.js'
import { createAttestationTokens, type AttestationTokens } from '../attestation/attestation-token.js'
import { createClientAttestationReader, createClientAttestations } from '../attestation/client-attestation.js'
import { createCheckProof } from '../attestation/challenge-proof.js'
import { createChallenges } from '../attestation/challenges.js'
import { createEvidence } from '../attestation/evidence.js'
import { createEnrolmentKeys } from '../attestation/enrolment-keys.js'
import { createAttestationLimits, type AttestationLimits } from '../attestation/limits.js'
import { createSecondFactors } from '../attestation/second-factor.js'
import { createAttestationReader } from '../attestation/read-attestation.js'
import { createShownAttestations, type ShownAttestations } from '../attestation/shown-attestation.js'
import { createListPublication } from '../attestation/status-list/publication.js'
import { createPrincipalStatus, type PrincipalStatus } from '../attestation/status.js'
import { createWorkloadIdentities } from '../attestation/workload-identity.js'
import type { Clock } from '../clock.js'
import { challengeEndpoint, createChallengeEndpoint } from '../endpoints/attestation/challenge.js'
import {
  createEnrolmentCompletionEndpoint,
  enrolmentCompletionEndpoint,
} from '../endpoints/attestation/enrol-complete.js'
import { createEnrolmentEndpoint, enrolmentEndpoint } from '../endpoints/attestation/enrol.js'
import { createReissueEndpoint, reissueEndpoint } from '../endpoints/attestation/reissue.js'
import { createStatusListEndpoint, statusListEndpoint } from '../endpoints/attestation/status-list.js'
import { createTrustBundleEndpoint, trustBundleEndpoint } from '../endpoints/attestation/trust-bundle.js'
import type { KeyRing } from '../keys/ports.js'
import type { HandlersOf } from '../endpoints/endpoint.js'
import { tokens, type Resolve } from './injection-tokens.js'
import type { StatusLists } from '../collections/status-lists.js'

/** The endpoints of the enrolment ceremony, which are served only with the section `attestation`. */
export const attestationEndpoints = {
  enrolment: enrolmentEndpoint,
  enrolmentCompletion: enrolmentCompletionEndpoint,
  reissue: reissueEndpoint,
}

/** These are served where evidence or the proof of an attested client may contain a challenge. */
export const challengeEndpoints = { challenge: challengeEndpoint }

export const createChallengeEndpoints = (get: Resolve): HandlersOf<typeof challengeEndpoints> => ({
  challenge: createChallengeEndpoint({ evidence: get(tokens.evidenceChallenges), refusals: get(tokens.refusals) }),
})

/** These are served only with `attestation.workload_identity`. */
export const trustBundleEndpoints = { trustBundle: trustBundleEndpoint }

export const createTrustBundleEndpoints = (get: Resolve): HandlersOf<typeof trustBundleEndpoints> => ({
  trustBundle: createTrustBundleEndpoint(get(tokens.ring)),
})

/** These are served only with `attestation.status_list`. */
export const statusListEndpoints = { statusList: statusListEndpoint }

type Section = NonNullable<Config['attestation']>

/** Opens what signs and reads attestations. */
export const openAttestationTokens = (
  { issuer, clock_tolerance_secs: toleranceSeconds }: Config,
  { attestation_ttl_secs: ttlSeconds, reissue_grace_secs: graceSeconds, signing_alg: alg, typ, status_list }: Section,
  { ring, clock }: { readonly ring: KeyRing; readonly clock: Clock },
): AttestationTokens =>
  createAttestationTokens({
    ...{ issuer, ring, clock, toleranceSeconds, ttlSeconds, graceSeconds, alg, typ },
    hasStatus: status_list !== undefined,
  })

/** Creates the verifier of attestations that are presented. There is none without the section `attestation`. */
export const createAttestationsOf = (get: Resolve): ShownAttestations => {
  const { attestation } = get(tokens.config)
  if (attestation === undefined)
    return { verify: async () => undefined, verifyClientAttestation: async () => undefined }
  const read = createAttestationReader({ ...get(tokens.verification), typ: attestation.typ })
  const readClientAttestation = createClientAttestationReader(get(tokens.verification))
  // The status provider is a plugin too, so it exists by the time an attestation is checked.
  const status: Pick<PrincipalStatus, 'check'> = {
    check: (question, signal) =>
      createPrincipalStatus(get(tokens.registries).statusProvider, get(tokens.statusLists)?.tokenStatus).check(
        question,
        signal,
      ),
  }
  return createShownAttestations({ read, readClientAttestation, status, clock: get(tokens.clock) })
}

/** Limits how often one key, subject or principal may make requests. */
export const createDeviceLimits = (get: Resolve): AttestationLimits => {
  const { attestation: rates } = get(tokens.config).rate_limits
  return createAttestationLimits({
    attempts: get(tokens.collections).attemptCounters,
    clock: get(tokens.clock),
    keyPerMinute: rates.key_per_minute,
    subjectPerMinute: rates.subject_per_minute,
    principalFree: rates.principal_free,
    hits: get(tokens.rateLimits).hits,
    log: get(tokens.log),
  })
}

/**
 * Finds the certificates of the keys that sign client attestations, by `kid`. A chain belongs to a key, whatever the
 * name of the key is.
 */
const createFindCertificates = (get: Resolve, texts: readonly string[]) => {
  const ring = get(tokens.ring)
  const certificates = readKeyCertificates(texts)
  const published = ring.states().flatMap(({ kid }) => ring.publishedKey(kid)?.publicKey ?? [])
  for (const index of certificates.findUnused(published))
    get(tokens.log).warn('No key has this certificate chain for client attestations', { index })
  return (kid: string) => {
    const key = ring.publishedKey(kid)
    return key && certificates.find(key.publicKey)
  }
}

export const createAttestationEndpoints = (get: Resolve, section: Section): HandlersOf<typeof attestationEndpoints> => {
  const config = get(tokens.config)
  const { issuer, clock_tolerance_secs: toleranceSeconds } = config
  const { attestation_ttl_secs: ttlSeconds, require_audience_in_proof: requireAudience } = section
  const { client_attestations: rules, client_attestation_certificates: chains } = section
  const { workload_identity: workloads, signing_alg: alg } = section
  const ring = get(tokens.ring)
  const certificatesOf = createFindCertificates(get, chains)
  const clock = get(tokens.clock)
  const audit = get(tokens.audit)
  const refusals = get(tokens.refusals)
  const { secondFactors, statusProvider, evidence: verifiers } = get(tokens.registries)
  const stored = get(tokens.collections)
  const limits = createDeviceLimits(get)
  const keys = createEnrolmentKeys()
  const tokenStatus = get(tokens.statusLists)?.tokenStatus
  const status = createPrincipalStatus(statusProvider, tokenStatus)
  const challenges = createChallenges(stored.challenges, section.challenge_ttl_secs)
  const attestations = openAttestationTokens(config, section, { ring, clock })
  return {
    enrolment: createEnrolmentEndpoint({
      limits,
      keys,
      allowedAttributes: section.attributes?.allow,
      factors: createSecondFactors(secondFactors),
      evidence: createEvidence({
        verifiers,
        challenges: get(tokens.evidenceChallenges),
        required: section.require_evidence,
      }),
      status,
      tokens: attestations,
      challenges,
      audit,
      refusals,
      clock,
    }),
    enrolmentCompletion: createEnrolmentCompletionEndpoint({
      challenges,
      checkProof: createCheckProof({ issuer, clock, toleranceSeconds, requireAudience, keys }),
      limits,
      status,
      tokenStatus,
      tokens: attestations,
      clientAttestations: rules && createClientAttestations({ issuer, ring, clock, alg, rules, certificatesOf }),
      workloadIdentities: workloads && createWorkloadIdentities({ ring, clock, alg, identifier: workloads.identifier }),
      ttlSeconds,
      reissueAfterSeconds: section.attestation_reissue_after_secs,
      audit,
      refusals,
    }),
    reissue: createReissueEndpoint({
      tokens: attestations,
      keys,
      limits,
      status,
      challenges,
      maxContinuitySeconds: section.max_continuity_secs,
      audit,
      refusals,
      clock,
    }),
  }
}

export const createStatusListEndpoints = (
  get: Resolve,
  { ids, here, builds }: StatusLists,
): HandlersOf<typeof statusListEndpoints> => {
  const { issuer, attestation } = get(tokens.config)
  const publication = createListPublication({
    lists: here,
    ids,
    builds,
    ring: get(tokens.ring),
    alg: attestation?.signing_alg ?? 'ES256',
    issuer,
    ttlSeconds: attestation?.status_list?.ttl_secs ?? 0,
    clock: get(tokens.clock),
    audit: get(tokens.audit),
    log: get(tokens.log),
  })
  return { statusList: createStatusListEndpoint(publication) }
}
