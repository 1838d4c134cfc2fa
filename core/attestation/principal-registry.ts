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
  /** The granted attributes. */
  readonly attributes: JsonObject
  /** Seconds since the epoch. */
  readonly enrolledAt: number
}

export interface Revocation {
  readonly principal: Principal
  /** Seconds since the epoch. */
  readonly revokedAt: number
}

/** What is known about a principal. */
export interface PrincipalStatus {
  readonly enrolment?: Enrolment
  readonly revokedAt?: number
}

/** A principal in the index by subject. Written at each enrolment, and at renewals. */
export interface PrincipalEntry {
  readonly principal: Principal
  /** The last recorded renewal, in seconds since the epoch. */
  readonly renewedAt?: number
}

/** One enrolled principal of a subject. */
export interface OwnPrincipal {
  /** A hash, unique among the principals of the subject. */
  readonly id: string
  readonly enrolment: Enrolment
  readonly renewedAt?: number
  readonly revokedAt?: number
}

/** Who was enrolled here, and who no longer may be. Every method throws `Unavailable`. */
export interface PrincipalRegistry {
  find(principal: Principal): Promise<PrincipalStatus>
  /** Replaces an earlier enrolment and its key. A revocation is kept. */
  enrol(enrolment: Enrolment): Promise<void>
  /**
   * Records a renewal of an enrolled principal at `at`, seconds since the epoch: at most once an hour, so that
   * renewals cost nothing. Also indexes by subject one that an earlier version enrolled.
   */
  renewed(principal: Principal, at: number): Promise<void>
  /** The subject that owns a `principal_id`. */
  findOwner(principalId: string): Promise<string | undefined>
  /**
   * The first of all subjects gets the id, in one atomic step. Returns true when it belongs to this one, newly or
   * already.
   */
  claimId(principal: Principal): Promise<boolean>
  /** Returns false when it was already revoked. */
  revoke(revocation: Revocation): Promise<boolean>
  /** Returns false when it was not revoked. */
  restore(principal: Principal): Promise<boolean>
  /**
   * Ends the enrolment and frees the id, unless the subject has it as another type too. A revocation is kept. Returns
   * false when there was nothing to end.
   */
  release(principal: Principal): Promise<boolean>
  /** At most `limit` enrolled principals in the order of an opaque id, starting after `after`. */
  list(after: string | undefined, limit: number): Promise<readonly (PrincipalStatus & { readonly id: string })[]>
  /** At most `limit` principals of a subject, starting after the id `after`. */
  listOwn(
    subject: string,
    after: string | undefined,
    limit: number,
  ): Promise<{ readonly found: readonly OwnPrincipal[]; readonly next?: string }>
  /** Undefined when the subject has no such principal, or it is no longer enrolled. */
  findOwn(subject: string, id: string): Promise<OwnPrincipal | undefined>
}

export interface PrincipalCollections {
  readonly principals: RecordStore<Enrolment>
  readonly principalIndex: RecordStore<PrincipalEntry>
  /** Kept in separate records, so that a concurrent enrolment never undoes a revocation. */
  readonly revokedPrincipals: RecordStore<Revocation>
  /** Subjects by the hash of their `principal_id`. */
  readonly principalOwners: RecordStore<string>
}

export const principalEntryId = (principal: Principal): string =>
  subjectRecordId(principal.subject, principalDigest(principal))

/** Seconds between two recorded renewals of one principal. */
const noteIntervalSeconds = 3600
/** Principals whose last recorded renewal a process remembers. */
const maxNoted = 10_000

/** `tokenStatus` covers issued attestations, which are revoked together with the enrolment they came from. */
export const createPrincipalRegistry = (
  { principals, principalIndex, revokedPrincipals, principalOwners }: PrincipalCollections,
  tokenStatus?: Pick<TokenStatus, 'revoke'>,
): PrincipalRegistry => {
  const ownerKey = (principalId: string): string => hash('sha256', principalId, 'base64url')
  const statusOf = (enrolment: Enrolment | undefined, revocation: Revocation | undefined): PrincipalStatus => ({
    ...(enrolment && { enrolment }),
    ...(revocation && { revokedAt: revocation.revokedAt }),
  })

  const noted = new RecentMap<string, { readonly at: number }>(maxNoted)

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
      return statusOf(...(await Promise.all([principals.find(key), revokedPrincipals.find(key)])))
    },
    async enrol(enrolment) {
      const { principal } = enrolment
      // If a crash leaves one of the two unwritten, the device's repeated request writes it: it has no attestation
      // yet.
      await Promise.all([
        principalIndex.put(principalEntryId(principal), { principal }),
        principals.put(principalDigest(principal), enrolment),
      ])
      await tokenStatus?.revoke(principal, (jkt) => jkt !== enrolment.jkt)
    },
    async renewed(principal, at) {
      const id = principalEntryId(principal)
      const last = noted.get(id)?.at
      if (last !== undefined && Math.abs(at - last) < noteIntervalSeconds) return
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
      // Also done when it was already revoked, because an outage may have interrupted that.
      await tokenStatus?.revoke(principal)
      return isFirst
    },
    restore: (principal) => revokedPrincipals.remove(principalDigest(principal)),
    async release(principal) {
      // The owner is removed last, so that a repetition after an outage still finds it.
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
      return page.map(({ id, record }, index) => ({ id, ...statusOf(record, revocations[index]) }))
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
