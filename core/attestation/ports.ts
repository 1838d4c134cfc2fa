import type { PublicJwk } from '../jose/jwk.js'
import type { JsonObject } from '../json.js'

/** The values of `principal_type` (docs/design/decisions.md#8-attestation). */
export const principalTypes = ['device', 'service'] as const
export type PrincipalType = (typeof principalTypes)[number]

/** The owner of a key. Its identity is `subject`, `principalId` and type together, under this issuer. */
export interface Principal {
  readonly subject: string
  readonly principalId: string
  readonly principalType: PrincipalType
}

/** `second_factor` of `/enrol`. It is opaque to the core and never logged. */
export interface SecondFactorProof {
  readonly kind: string
  readonly value: string
}

/** What a second factor may be bound to. */
export interface EnrolmentContext {
  readonly principal: Principal
  /** Thumbprint of the key to be enrolled (RFC 7638), computed by the core. */
  readonly jkt: string
  /** The attributes that the caller asks for, within `attestation.attributes`. */
  readonly attributes: JsonObject
  /** The caller's address, taken from trusted proxies only. */
  readonly address: string
  readonly requestId: string
  /** Aborted at the deadline of the request. */
  readonly signal: AbortSignal
}

export interface SecondFactorAccepted {
  readonly ok: true
  /** The granted attributes. If absent, those asked for. `status` is reserved for the core. */
  readonly attributes?: JsonObject
  /** RFC 8176 values, for the audit log. */
  readonly amr?: readonly string[]
  /**
   * Uses up a single-use factor. Called once, after the challenge is stored and before the answer, so that an outage
   * uses up nothing. Exactly one of N callers in any number of processes gets true; false refuses.
   */
  consume?(): Promise<boolean>
}

export interface SecondFactorDenied {
  readonly ok: false
  /** The reason for the audit log, in constant words, without the factor's value. */
  readonly reason?: string
  /**
   * A person has not decided yet: the caller gets `ApprovalPending`, and may repeat the same request after this many
   * seconds.
   */
  readonly retryAfterSeconds?: number
}

/** Output of the command line, shown once. */
export interface IssuedFactor {
  /** Lines by label, in order. */
  readonly lines: Readonly<Record<string, string>>
  /** Also shown as a QR code for a camera. */
  readonly uri?: string
}

/** An enrolment that waits for a person's decision. */
export interface WaitingEnrolment {
  readonly id: string
  readonly principal: Principal
  readonly jkt: string
  /** The attributes asked for. */
  readonly attributes: JsonObject
  /** The caller's message, for the person to compare. */
  readonly message: string
  /** The requester's address in the form of `addressBucket`. Absent if none is known (a unix socket). */
  readonly address?: string
  /** Seconds since the epoch. */
  readonly requestedAt: number
  /** Set when approved but not used, so that it can still be denied. Absent while nobody has decided. */
  readonly approved?: boolean
}

/** Proves who is enrolling a key (docs/design/decisions.md#8-attestation). */
export interface SecondFactorVerifier {
  /** The `second_factor.kind` that it handles. */
  readonly kind: string
  /** Kinds that this factor combines. They are not accepted on their own. */
  readonly parts?: readonly string[]
  /**
   * Only `ok: true` accepts. Throws `Unavailable` when it cannot know. Anything else that it throws or returns, and a
   * hang, is a fault and accepts nothing.
   */
  verify(enrolment: EnrolmentContext, proof: SecondFactorProof): Promise<SecondFactorAccepted | SecondFactorDenied>
  /** Issues a credential for a principal, for the command line. Throws `Unavailable`. */
  issue?(principal: Principal): Promise<IssuedFactor>
  /** Deletes what was issued, and returns true when there was something. Throws `Unavailable`. */
  withdraw?(principal: Principal): Promise<boolean>
  /** Enrolments that wait for a person's decision. Throws `Unavailable`. */
  waiting?(): Promise<readonly WaitingEnrolment[]>
  /**
   * Records a decision. A denial also revokes an approval that was not used. Returns false when nothing with this id
   * waits. Throws `Unavailable`.
   */
  decide?(id: string, decision: 'approve' | 'deny'): Promise<boolean>
}

/** What evidence must be bound to. */
export interface EvidenceContext {
  readonly principal: Principal
  /** The key to be enrolled: P-256, in canonical form. */
  readonly jwk: PublicJwk
  /** Its thumbprint (RFC 7638), computed by the core. */
  readonly jkt: string
  /** A timely value of our `POST /challenge`. The core redeems it after the evidence was accepted. */
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
  /** What the evidence states about the device, for the audit log. At most 1 KiB as JSON. */
  readonly details?: JsonObject
}

export interface EvidenceDenied {
  readonly ok: false
  /** The reason for the audit log, in constant words. */
  readonly reason: string
}

/**
 * Verifies evidence, against what a deployer trusts, that a key is held where it cannot be copied (OpenID4VCI
 * appendix D).
 */
export interface EvidenceVerifier {
  /** The `evidence.kind` that it handles. */
  readonly kind: string
  /**
   * Accepts only with `ok: true`, when the evidence contains `challenge` and is about the key `jwk`. `evidence` is
   * the request's member in any shape: strict JSON of at most 32 KiB. It must not use anything up, because the same
   * request may be repeated after an outage. Throws `Unavailable` when it cannot know. Anything else that it throws
   * or returns, and a hang, is a fault and accepts nothing.
   */
  verify(context: EvidenceContext, evidence: JsonObject): Promise<EvidenceAccepted | EvidenceDenied>
}

/** The principal whose status is needed. `step` is `enrolment` until the first attestation was issued. */
export interface StatusQuestion {
  readonly principal: Principal
  readonly jkt: string
  readonly step: 'enrolment' | 'renewal'
}

/**
 * Decides whether a principal may still have attestations, and with which attributes
 * (docs/design/decisions.md#8-attestation).
 */
export interface AttestationStatusProvider {
  /**
   * The current attributes, which a renewal carries, or undefined if revoked. `refuse` gives the audit log the reason
   * in constant words, and also means undefined. Throws `Unavailable` when it cannot know; anything else that it
   * throws or returns is a fault, never a revocation.
   */
  current(
    question: StatusQuestion,
    signal: AbortSignal,
    refuse: (reason: string) => undefined,
  ): Promise<JsonObject | undefined>
  /** Called for each full enrolment before its challenge is consumed. Must be idempotent. Throws `Unavailable`. */
  enrolled?(question: StatusQuestion, attributes: JsonObject, signal: AbortSignal): Promise<void>
  /**
   * Called for each renewal while its challenge is consumed. It only keeps records, so errors and hangs are ignored.
   */
  renewed?(question: StatusQuestion, signal: AbortSignal): Promise<void>
}
