import { epochSeconds, type Clock } from '../clock.js'
import { maxTokenLength } from '../jose/compact-jws.js'
import type { JwsAlg, PublicJwk } from '../jose/jwk.js'
import type { KeyRing } from '../keys/ports.js'
import { newOpaqueToken } from '../opaque-token.js'
import { createCeremonyTokens } from './ceremony-tokens.js'
import type { Principal } from './ports.js'

/** `typ` of a Workload Identity Token (draft-ietf-wimse-workload-creds-02 §5.1). */
export const workloadIdentityType = 'wit+jwt'

const profile = { typ: workloadIdentityType, purpose: 'attestation', maxLength: maxTokenLength } as const

export interface WorkloadIdentityOptions {
  readonly ring: Pick<KeyRing, 'sign'>
  readonly clock: Clock
  readonly alg: JwsAlg
  /** A URI with `{subject}` and `{principal_id}` as whole path segments. */
  readonly identifier: string
}

/** A handle: the issuer that prepared the token keeps its claims, and signs them once. */
export interface PreparedWorkloadIdentity {
  /** The workload identifier. */
  readonly workload: string
}

/** Characters that both SPIFFE ID §2.2 and RFC 3986 allow in a segment, without percent-encoding. */
const segment = /^(?!\.{1,2}$)[\w.-]+$/

/**
 * Undefined when a name is not a valid segment. Nothing is encoded or replaced, so two principals never get the same
 * name.
 */
const nameWorkload = (template: string, { subject, principalId }: Principal): string | undefined => {
  const values: Readonly<Record<string, string>> = { '{subject}': subject, '{principal_id}': principalId }
  const parts = template.split('/').map((part) => values[part] ?? part)
  return parts.slice(3).every((part) => segment.test(part)) ? parts.join('/') : undefined
}

/**
 * Issues a token that names a service and its key as a workload (draft-ietf-wimse-workload-creds-02 §5.1, SPIFFE
 * WIT-SVID). It has no `aud`, because the workload's own signatures state their audience; and no `iss`, because
 * readers of ID tokens could take it for one. The trust domain in `sub` states who vouches for it.
 */
export const createWorkloadIdentities = ({ ring, clock, alg, identifier }: WorkloadIdentityOptions) => {
  const made = createCeremonyTokens<PreparedWorkloadIdentity>({ ring, profile, alg })

  return {
    /**
     * Undefined for devices, and for services whose names do not fit into a URI. `expiresAt` is in seconds since the
     * epoch.
     */
    prepare(
      { principal, jwk, jkt }: { readonly principal: Principal; readonly jwk: PublicJwk; readonly jkt: string },
      expiresAt: number,
    ): PreparedWorkloadIdentity | undefined {
      const workload = principal.principalType === 'service' ? nameWorkload(identifier, principal) : undefined
      if (workload === undefined) return undefined
      const iat = epochSeconds(clock)
      // Enrolled keys are P-256 and sign with ES256 only.
      const cnf = { jwk: { ...jwk, alg: 'ES256' } }
      const claims = { sub: workload, iat, nbf: iat, exp: expiresAt, jti: newOpaqueToken().slice(0, 22), cnf }
      return made.put({ workload }, { jkt, claims })
    },

    sign: made.sign,
  }
}

export type WorkloadIdentities = ReturnType<typeof createWorkloadIdentities>
