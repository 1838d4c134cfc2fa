/** `signet-idp/attestation`: what plugins of the attestation service need in addition to `signet-idp`. */
export { findEvidenceLevelFault } from '../attestation/evidence-claims.js'
export type {
  AttestationStatusProvider,
  EnrolmentContext,
  EvidenceAccepted,
  EvidenceContext,
  EvidenceDenied,
  EvidenceVerifier,
  IssuedFactor,
  Principal,
  PrincipalType,
  SecondFactorAccepted,
  SecondFactorDenied,
  SecondFactorProof,
  SecondFactorVerifier,
  StatusQuestion,
  WaitingEnrolment,
} from '../attestation/ports.js'
export { principalDigest } from '../attestation/principal-digest.js'
export type { Enrolment, PrincipalRegistry, PrincipalStatus, Revocation } from '../attestation/principal-registry.js'
export type { ReadAttestation } from '../attestation/read-attestation.js'
export type { ShownAttestations } from '../attestation/shown-attestation.js'
export type { CertificateChains, CertificateChainsOptions, TrustedChain } from '../certificates/certificate-chains.js'
export {
  createCertificateChains,
  findCertificatesFault,
  isForKey,
  readX5c,
} from '../certificates/certificate-chains.js'
export { evidenceStatement } from '../../libraries/wire/evidence.js'
