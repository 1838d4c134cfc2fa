import type { PublicJwk } from '../jose/jwk.js'
import type { JsonObject } from '../json.js'

/** The values of `principal_type` (docs/design/decisions.md#8-attestation). */
export const principalTypes = ['device', 'service'] as const
export type PrincipalType = (typeof principalTypes)[number]

/** Whom a key belongs to. Its identity is `subject`, `principalId` and type together, under this issuer. */
export interface Principal {
  readonly subject: string
  readonly principalId: string
  readonly principalType: PrincipalType
}

/** `second_factor` of `/enrol`: opaque to the core, never logged. */
export interface SecondFactorProof {
  readonly kind: string
  readonly value: string
}

/** What a second factor may bind itself to. */
export interface EnrolmentContext {
  readonly principal: Principal
  /** Thumbprint of the key that is to be enrolled (RFC 7638), computed by the core. */
  readonly jkt: string
  /** What the caller asks to have in the attestation, within `attestation.attributes`. */
  readonly attributes: JsonObject
  /** The caller's address, through trusted proxies only. */
  readonly address: string
  readonly requestId: string
  /** Aborted at the deadline of the request. */
  readonly signal: AbortSignal
}

export interface SecondFactorAccepted {
  readonly ok: true
  /** What is granted; absent: what was asked for. `status` is the core's. */
  readonly attributes?: JsonObject
  /** RFC 8176 values, for the audit log. */
  readonly amr?: readonly string[]
  /**
   * Uses the factor up, where it may be used once. Called once, when the challenge is stored and before it is answered,
   * so that an outage uses nothing up. Of N callers in any number of processes exactly one gets true; false refuses.
   */
  consume?(): Promise<boolean>
}

export interface SecondFactorDenied {
  readonly ok: false
  /** For the audit log: why, in constant words, without the factor's value. */
  readonly reason?: string
  /** Somebody still has to decide: the caller gets `ApprovalPending` and may repeat the same request after this long. */
  readonly retryAfterSeconds?: number
}

/** What the command line prints, once. */
export interface IssuedFactor {
  /** By label, in order. */
  readonly lines: Readonly<Record<string, string>>
  /** For a camera: shown as a QR code too. */
  readonly uri?: string
}

/** An enrolment that a person has to decide about. */
export interface WaitingEnrolment {
  readonly id: string
  readonly principal: Principal
  readonly jkt: string
  /** As asked for. */
  readonly attributes: JsonObject
  /** What the caller sent for the person to compare. */
  readonly message: string
  /** Where it was asked from, as `addressBucket` counts it. Absent: no address is known (a unix socket). */
  readonly address?: string
  /** Seconds since the epoch. */
  readonly requestedAt: number
  /** Approved, and not used yet: it may still be denied. Absent: nobody has decided. */
  readonly approved?: boolean
}

/** Proves who enrols a key (docs/design/decisions.md#8-attestation). */
export interface SecondFactorVerifier {
  /** `second_factor.kind` that it answers for. */
  readonly kind: string
  /** Kinds that this one asks in turn. Those are not accepted by themselves. */
  readonly parts?: readonly string[]
  /**
   * Accepts with `ok: true` and nothing else. Throws `Unavailable` when it cannot know. Whatever else it throws or
   * returns, and a hang, is a fault and accepts nothing.
   */
  verify(enrolment: EnrolmentContext, proof: SecondFactorProof): Promise<SecondFactorAccepted | SecondFactorDenied>
  /** Makes what a principal proves itself with, for the command line. Throws `Unavailable`. */
  issue?(principal: Principal): Promise<IssuedFactor>
  /** Forgets what was issued; true when there was something. Throws `Unavailable`. */
  withdraw?(principal: Principal): Promise<boolean>
  /** What a person may decide about. Throws `Unavailable`. */
  waiting?(): Promise<readonly WaitingEnrolment[]>
  /** A denial also takes an approval back that was not used. False when nothing of this id waits. Throws `Unavailable`. */
  decide?(id: string, decision: 'approve' | 'deny'): Promise<boolean>
}

/** What evidence has to be bound to. */
export interface EvidenceContext {
  readonly principal: Principal
  /** The key that is to be enrolled: P-256, in canonical form. */
  readonly jwk: PublicJwk
  /** Its thumbprint (RFC 7638), computed by the core. */
  readonly jkt: string
  /** A value of `POST /challenge`, ours and in time. The core redeems it after the evidence was accepted. */
  readonly challenge: string
  /** Aborted at the deadline of the request. */
  readonly signal: AbortSignal
}

export interface EvidenceAccepted {
  readonly ok: true
  /** `key_storage` of the attestation: values of OpenID4VCI appendix D.2 such as `iso_18045_high`, or URIs. At most 8. */
  readonly keyStorage?: readonly string[]
  /** `user_authentication` of the attestation, likewise. */
  readonly userAuthentication?: readonly string[]
  /** For the audit log: what the evidence says of the device. At most 1 KiB as JSON. */
  readonly details?: JsonObject
}

export interface EvidenceDenied {
  readonly ok: false
  /** For the audit log: why, in constant words. */
  readonly reason: string
}

/** Holds the evidence against what a deployer trusts: that a key is where it cannot be copied (OpenID4VCI appendix D). */
export interface EvidenceVerifier {
  /** `evidence.kind` that it answers for. */
  readonly kind: string
  /**
   * Accepts with `ok: true` when the evidence contains `challenge` and is about the key `jwk`, and with nothing else.
   * `evidence` is the member of the request, of whatever shape: strict JSON of 32 KiB at the most. Uses nothing up: the same
   * request may come again after an outage. Throws `Unavailable` when it cannot know. Whatever else it throws or returns, and
   * a hang, is a fault and accepts nothing.
   */
  verify(context: EvidenceContext, evidence: JsonObject): Promise<EvidenceAccepted | EvidenceDenied>
}

/** Whose status is asked. `step` is `enrolment` until the first attestation is out. */
export interface StatusQuestion {
  readonly principal: Principal
  readonly jkt: string
  readonly step: 'enrolment' | 'renewal'
}

/**
 * Says whether a principal may still have attestations, and with what attributes
 * (docs/design/decisions.md#8-attestation).
 */
export interface AttestationStatusProvider {
  /**
   * The attributes as they stand now, which a renewal carries; undefined: revoked. `refuse` is undefined too, and tells
   * the audit log why, in constant words. Throws `Unavailable` when it cannot know; whatever else it throws or returns is
   * a fault, never a revocation.
   */
  current(
    question: StatusQuestion,
    signal: AbortSignal,
    refuse: (reason: string) => undefined,
  ): Promise<JsonObject | undefined>
  /** Called for each full enrolment before its challenge is consumed. Idempotent; throws `Unavailable`. */
  enrolled?(question: StatusQuestion, attributes: JsonObject, signal: AbortSignal): Promise<void>
  /** Called for each renewal, while its challenge is consumed. What it throws, and a hang, is ignored: it is for the record. */
  renewed?(question: StatusQuestion, signal: AbortSignal): Promise<void>
}
