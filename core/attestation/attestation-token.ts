import { epochSeconds, type Clock } from '../clock.js'
import type { JsonObject } from '../json.js'
import { maxTokenLength } from '../jose/compact-jws.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyRing } from '../keys/ports.js'
import { newOpaqueToken } from '../opaque-token.js'
import { createCeremonyTokens } from './ceremony-tokens.js'
import { hookFault } from './ask-hook.js'
import { attestationError } from './errors.js'
import { writeEvidenceClaims } from './evidence-claims.js'
import { createAttestationReader, type AttestationContent } from './read-attestation.js'
import { indexCount } from './status-list/index-order.js'
import type { StatusIndex } from './status-list/indexes.js'
import { statusListUri } from './status-list/publication.js'

export interface AttestationTokenOptions {
  readonly issuer: string
  readonly ring: Pick<KeyRing, 'sign' | 'publishedKey'>
  readonly clock: Clock
  readonly toleranceSeconds: number
  readonly ttlSeconds: number
  /** Seconds after its expiry in which an attestation can still be renewed. */
  readonly graceSeconds: number
  readonly alg: JwsAlg
  readonly typ: string
  /** Whether attestations have an entry in a status list (`attestation.status_list`). */
  readonly hasStatus?: boolean
}

/** A handle: the issuer that prepared the attestation keeps its claims, and signs them once. */
export interface PreparedAttestation {
  readonly jti: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** Bytes of claims that keep an attestation below 8 KiB, whatever the names of type and key are. */
const maxClaimBytes = 5600

/** Token Status List §6.2. */
const statusClaim = (issuer: string, { list, idx }: StatusIndex): JsonObject => ({
  status: { status_list: { idx, uri: statusListUri(issuer, list) } },
})
const longestIndex: StatusIndex = { list: 'x'.repeat(32), idx: indexCount - 1 }

const tooLong = (grantedBy: string | undefined): Error =>
  grantedBy === undefined
    ? attestationError('InvalidRequest', { description: 'Identifiers and attributes together are too long.' })
    : hookFault(grantedBy, 'the plugin returned attributes that are too long beside the identifiers')

export const createAttestationTokens = (options: AttestationTokenOptions) => {
  const { issuer, clock, ttlSeconds, graceSeconds, toleranceSeconds, alg, typ, hasStatus } = options
  const profile = { typ, purpose: 'attestation', maxLength: maxTokenLength } as const
  const made = createCeremonyTokens<PreparedAttestation>({ ring: options.ring, profile, alg })
  const read = createAttestationReader({ ring: options.ring, issuer, clock, typ, toleranceSeconds })
  const statusBytes = hasStatus ? Buffer.byteLength(JSON.stringify(statusClaim(issuer, longestIndex))) : 0

  return {
    /**
     * Prepares the claims of an attestation (docs/design/decisions.md#8-attestation). When they are too long it
     * throws `InvalidRequest`, or `Unavailable` when the attributes come from the plugin `grantedBy`, because then
     * the caller cannot change them.
     */
    prepare(
      content: AttestationContent,
      {
        grantedBy,
        status,
      }: { readonly grantedBy?: string | undefined; readonly status?: StatusIndex | undefined } = {},
    ): PreparedAttestation {
      const { principal, jkt, attributes, enrolledAt, evidence = {} } = content
      const iat = epochSeconds(clock)
      // The clock of the process that enrolled may be ahead of this one's, but an enrolment is never later than its
      // attestation.
      const jti = `${Math.min(enrolledAt, iat).toString(36)}.${newOpaqueToken().slice(0, 22)}`
      const claims = {
        iss: issuer,
        sub: principal.subject,
        iat,
        nbf: iat,
        exp: iat + ttlSeconds,
        jti,
        cnf: { jkt },
        did: principal.principalId,
        principal_type: principal.principalType,
        att: { ...attributes, status: 'active' },
        ...writeEvidenceClaims(evidence),
      }
      // Leaves space for a status that is not known yet, so that every enrolment that starts can be completed.
      if (Buffer.byteLength(JSON.stringify(claims)) + statusBytes > maxClaimBytes) throw tooLong(grantedBy)
      const whole = status === undefined ? claims : { ...claims, ...statusClaim(issuer, status) }
      return made.put({ jti, expiresAt: claims.exp }, { jkt, claims: whole })
    },

    sign: made.sign,

    /**
     * The contents of one of our attestations that is to be renewed: signed by a published or retired key, and not
     * expired for longer than the grace period. Throws `AttestationInvalid` for everything else, however well it is
     * signed.
     */
    async check(token: string): Promise<AttestationContent> {
      const content = await read(token)
      if (content === undefined || content.expiresAt + graceSeconds <= epochSeconds(clock))
        throw attestationError('AttestationInvalid')
      const { principal, jkt, attributes, enrolledAt, evidence } = content
      return { principal, jkt, attributes, enrolledAt, ...(evidence && { evidence }) }
    },
  }
}

export type AttestationTokens = ReturnType<typeof createAttestationTokens>
