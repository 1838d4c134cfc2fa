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
  /** A URI with `{subject}` and `{principal_id}` as whole segments of its path. */
  readonly identifier: string
}

/** The issuer that prepared it keeps its claims, and signs them once. */
export interface PreparedWorkloadIdentity {
  /** The workload identifier. */
  readonly workload: string
}

/** What both SPIFFE ID §2.2 and RFC 3986 let a segment be, without percent-encoding. */
const segment = /^(?!\.{1,2}$)[\w.-]+$/

/** Undefined: a name is no segment. Nothing is encoded or replaced, so that two principals never have one name. */
const nameWorkload = (template: string, { subject, principalId }: Principal): string | undefined => {
  const values: Readonly<Record<string, string>> = { '{subject}': subject, '{principal_id}': principalId }
  const parts = template.split('/').map((part) => values[part] ?? part)
  return parts.slice(3).every((part) => segment.test(part)) ? parts.join('/') : undefined
}

/**
 * Names a service and its key as a workload (draft-ietf-wimse-workload-creds-02 §5.1, SPIFFE WIT-SVID). Without `aud`: what
 * the workload signs says for whom. Without `iss`, which would let readers of ID tokens take it for one of theirs; the trust
 * domain in `sub` says who vouches.
 */
export const createWorkloadIdentities = ({ ring, clock, alg, identifier }: WorkloadIdentityOptions) => {
  const made = createCeremonyTokens<PreparedWorkloadIdentity>({ ring, profile, alg })

  return {
    /** Undefined for devices, and for services whose names fit into no URI. `expiresAt`: seconds since the epoch. */
    prepare(
      { principal, jwk, jkt }: { readonly principal: Principal; readonly jwk: PublicJwk; readonly jkt: string },
      expiresAt: number,
    ): PreparedWorkloadIdentity | undefined {
      const workload = principal.principalType === 'service' ? nameWorkload(identifier, principal) : undefined
      if (workload === undefined) return undefined
      const iat = epochSeconds(clock)
      // What is enrolled here is P-256 and signs with ES256 alone.
      const cnf = { jwk: { ...jwk, alg: 'ES256' } }
      const claims = { sub: workload, iat, nbf: iat, exp: expiresAt, jti: newOpaqueToken().slice(0, 22), cnf }
      return made.put({ workload }, { jkt, claims })
    },

    sign: made.sign,
  }
}

export type WorkloadIdentities = ReturnType<typeof createWorkloadIdentities>
