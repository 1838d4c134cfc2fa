import { hash } from 'node:crypto'
import type { JsonObject } from '../json.js'
import { pageSubjectRecords, subjectRecordId } from '../oauth/subjects/subject-records.js'
import { RecentMap } from '../recent-map.js'
import type { RecordStore } from '../storage/ports.js'
import { principalTypes, type Principal } from './ports.js'
import { principalDigest } from './principal-digest.js'
import type { TokenStatus } from './status-list/token-status.js'

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

/** A principal as it can be found by its subject. Written with each enrolment, and with renewals. */
export interface PrincipalEntry {
  readonly principal: Principal
  /** Of the last renewal that was noted: seconds since the epoch. */
  readonly renewedAt?: number
}

/** One enrolled principal of a subject. */
export interface OwnPrincipal {
  /** Of all principals of the subject; a hash. */
  readonly id: string
  readonly enrolment: Enrolment
  readonly renewedAt?: number
  readonly revokedAt?: number
}

/** Who was enrolled here, and who may no more. Every member throws `Unavailable`. */
export interface PrincipalRegistry {
  find(principal: Principal): Promise<PrincipalStatus>
  /** Takes the place of an earlier enrolment, and of its key. A revocation stays. */
  enrol(enrolment: Enrolment): Promise<void>
  /**
   * Notes a renewal of an enrolled principal, `at` seconds since the epoch: once an hour at the most, so that it costs renewals
   * nothing. Makes one findable by its subject that an earlier version enrolled.
   */
  renewed(principal: Principal, at: number): Promise<void>
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
  /** Those of a subject, at most `limit`, from after the id `after`. */
  listOwn(
    subject: string,
    after: string | undefined,
    limit: number,
  ): Promise<{ readonly found: readonly OwnPrincipal[]; readonly next?: string }>
  /** Undefined where the subject has no such one, or it is enrolled no more. */
  findOwn(subject: string, id: string): Promise<OwnPrincipal | undefined>
}

export interface PrincipalCollections {
  readonly principals: RecordStore<Enrolment>
  readonly principalIndex: RecordStore<PrincipalEntry>
  /** Records of their own, so that no enrolment that is written at the same time undoes a revocation. */
  readonly revokedPrincipals: RecordStore<Revocation>
  /** Subjects, by hash of the `principal_id`. */
  readonly principalOwners: RecordStore<string>
}

export const principalEntryId = (principal: Principal): string =>
  subjectRecordId(principal.subject, principalDigest(principal))

/** Seconds between two notes of renewals of one principal. */
const noteEvery = 3600
/** Principals of which a process remembers when it noted the last renewal. */
const mostNoted = 10_000

/** `tokenStatus`: of attestations that are out, which go with the enrolment that they came from. */
export const createPrincipalRegistry = (
  { principals, principalIndex, revokedPrincipals, principalOwners }: PrincipalCollections,
  tokenStatus?: Pick<TokenStatus, 'revoke'>,
): PrincipalRegistry => {
  const ownerKey = (principalId: string): string => hash('sha256', principalId, 'base64url')
  const standing = (enrolment: Enrolment | undefined, revocation: Revocation | undefined): PrincipalStatus => ({
    ...(enrolment && { enrolment }),
    ...(revocation && { revokedAt: revocation.revokedAt }),
  })

  const noted = new RecentMap<string, { readonly at: number }>(mostNoted)

  const own = async (id: string, { principal, renewedAt }: PrincipalEntry): Promise<OwnPrincipal | undefined> => {
    const key = principalDigest(principal)
    const [enrolment, revocation] = await Promise.all([principals.find(key), revokedPrincipals.find(key)])
    if (enrolment === undefined) return undefined
    return {
      id,
      enrolment,
      ...(renewedAt !== undefined && renewedAt >= enrolment.enrolledAt && { renewedAt }),
      ...(revocation && { revokedAt: revocation.revokedAt }),
    }
  }

  return {
    async find(principal) {
      const key = principalDigest(principal)
      return standing(...(await Promise.all([principals.find(key), revokedPrincipals.find(key)])))
    },
    async enrol(enrolment) {
      const { principal } = enrolment
      // What of the two is missing after a crash the device writes when it repeats the request: it has no attestation yet.
      await Promise.all([
        principalIndex.put(principalEntryId(principal), { principal }),
        principals.put(principalDigest(principal), enrolment),
      ])
      await tokenStatus?.revoke(principal, (jkt) => jkt !== enrolment.jkt)
    },
    async renewed(principal, at) {
      const id = principalEntryId(principal)
      const last = noted.get(id)?.at
      if (last !== undefined && Math.abs(at - last) < noteEvery) return
      await principalIndex.put(id, { principal, renewedAt: at })
      noted.set(id, { at })
    },
    findOwner: (principalId) => principalOwners.find(ownerKey(principalId)),
    async claimId({ principalId, subject }) {
      const key = ownerKey(principalId)
      if (await principalOwners.put(key, subject, { onlyIfAbsent: true })) return true
      return (await principalOwners.find(key)) === subject
    },
    async revoke(revocation) {
      const { principal } = revocation
      const isFirst = await revokedPrincipals.put(principalDigest(principal), revocation, { onlyIfAbsent: true })
      // Also of one that was revoked before: an outage may have come between.
      await tokenStatus?.revoke(principal)
      return isFirst
    },
    restore: (principal) => revokedPrincipals.remove(principalDigest(principal)),
    async release(principal) {
      // The owner last, so that a repetition after an outage finds it.
      const ended = await principals.remove(principalDigest(principal))
      await principalIndex.remove(principalEntryId(principal))
      await tokenStatus?.revoke(principal)
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
    async listOwn(subject, after, limit) {
      const { entries, more } = await pageSubjectRecords(principalIndex, subject, after, limit)
      const all = await Promise.all(entries.map(({ name, record }) => own(name, record)))
      const next = entries.at(-1)?.name
      return { found: all.filter((one) => one !== undefined), ...(more && next !== undefined && { next }) }
    },
    async findOwn(subject, id) {
      const entry = await principalIndex.find(subjectRecordId(subject, id))
      return entry && own(id, entry)
    },
  }
}
