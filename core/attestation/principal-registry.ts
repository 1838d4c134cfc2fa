import { hash } from 'node:crypto'
import type { JsonObject } from '../json.js'
import type { RecordStore } from '../storage/ports.js'
import { principalTypes, type Principal } from './ports.js'
import { principalDigest } from './principal-digest.js'

/** The last full enrolment of a principal. */
export interface Enrolment {
  readonly principal: Principal
  readonly jkt: string
  /** As granted. */
  readonly attributes: JsonObject
  /** Seconds since the epoch. */
  readonly enrolledAt: number
}

export interface Revocation {
  readonly principal: Principal
  /** Seconds since the epoch. */
  readonly revokedAt: number
}

/** What is known of a principal. */
export interface PrincipalStatus {
  readonly enrolment?: Enrolment
  readonly revokedAt?: number
}

/** Who was enrolled here, and who may no more. Every member throws `Unavailable`. */
export interface PrincipalRegistry {
  find(principal: Principal): Promise<PrincipalStatus>
  /** Takes the place of an earlier enrolment, and of its key. A revocation stays. */
  enrol(enrolment: Enrolment): Promise<void>
  /** The subject that a `principal_id` belongs to. */
  findOwner(principalId: string): Promise<string | undefined>
  /** Of all subjects the first one gets the id, in one atomic step. True when it is this one's, now or before. */
  claimId(principal: Principal): Promise<boolean>
  /** False when it was revoked before. */
  revoke(revocation: Revocation): Promise<boolean>
  /** False when it was not revoked. */
  restore(principal: Principal): Promise<boolean>
  /**
   * Ends the enrolment, and the id is nobody's, unless the subject has it as another type too. A revocation stays. False when
   * there was nothing to end.
   */
  release(principal: Principal): Promise<boolean>
  /** Enrolled principals, at most `limit`, in order of an opaque id, from after `after`. */
  list(after: string | undefined, limit: number): Promise<readonly (PrincipalStatus & { readonly id: string })[]>
}

export interface PrincipalCollections {
  readonly principals: RecordStore<Enrolment>
  /** Records of their own, so that no enrolment that is written at the same time undoes a revocation. */
  readonly revokedPrincipals: RecordStore<Revocation>
  /** Subjects, by hash of the `principal_id`. */
  readonly principalOwners: RecordStore<string>
}

export const createPrincipalRegistry = ({
  principals,
  revokedPrincipals,
  principalOwners,
}: PrincipalCollections): PrincipalRegistry => {
  const ownerKey = (principalId: string): string => hash('sha256', principalId, 'base64url')
  const standing = (enrolment: Enrolment | undefined, revocation: Revocation | undefined): PrincipalStatus => ({
    ...(enrolment && { enrolment }),
    ...(revocation && { revokedAt: revocation.revokedAt }),
  })

  return {
    async find(principal) {
      const key = principalDigest(principal)
      return standing(...(await Promise.all([principals.find(key), revokedPrincipals.find(key)])))
    },
    async enrol(enrolment) {
      await principals.put(principalDigest(enrolment.principal), enrolment)
    },
    findOwner: (principalId) => principalOwners.find(ownerKey(principalId)),
    async claimId({ principalId, subject }) {
      const key = ownerKey(principalId)
      if (await principalOwners.put(key, subject, { onlyIfAbsent: true })) return true
      return (await principalOwners.find(key)) === subject
    },
    revoke: (revocation) =>
      revokedPrincipals.put(principalDigest(revocation.principal), revocation, { onlyIfAbsent: true }),
    restore: (principal) => revokedPrincipals.remove(principalDigest(principal)),
    async release(principal) {
      // The owner last, so that a repetition after an outage finds it.
      const ended = await principals.remove(principalDigest(principal))
      const types = principalTypes.filter((type) => type !== principal.principalType)
      const others = types.map((principalType) => principals.find(principalDigest({ ...principal, principalType })))
      if ((await Promise.all(others)).some((other) => other !== undefined)) return ended
      const key = ownerKey(principal.principalId)
      const owned = (await principalOwners.find(key)) === principal.subject
      return (owned && (await principalOwners.remove(key))) || ended
    },
    async list(after, limit) {
      const page = await principals.list(after, limit)
      const revocations = await Promise.all(page.map(({ id }) => revokedPrincipals.find(id)))
      return page.map(({ id, record }, index) => ({ id, ...standing(record, revocations[index]) }))
    },
  }
}
