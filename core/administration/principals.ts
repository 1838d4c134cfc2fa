import type { Config } from '../../config/schema.js'
import type { Principal } from '../attestation/ports.js'
import {
  createPrincipalRegistry,
  type PrincipalRegistry,
  type PrincipalStatus,
} from '../attestation/principal-registry.js'
import { maxRefreshSeconds } from '../attestation/status-list/publication.js'
import { collections } from '../collections/collections.js'
import { openPrincipals } from '../collections/status-lists.js'
import { principalMigration } from '../collections/store-schemas.js'
import type { Stores } from '../collections/stores.js'
import { change, type Administration, type Deployment, type Operator, type Refusal } from './administration.js'
import { etagOf } from './etag.js'

/** Returns the names of a principal for the audit log. */
export const principalAuditContext = ({
  subject: sub,
  principalId: principal_id,
  principalType: principal_type,
}: Principal) => ({
  ...{ sub, principal_id, principal_type },
})

const registryOf = ({ stores, config, clock }: Administration): PrincipalRegistry =>
  openPrincipals(stores, config, clock)

/**
 * Returns a principal that is enrolled, and whether it is revoked; undefined when it is not enrolled. Throws
 * `Unavailable`.
 */
export const findPrincipal = async (
  { stores }: Deployment,
  principal: Principal,
): Promise<PrincipalStatus | undefined> => {
  const status = await createPrincipalRegistry(collections(stores)).find(principal)
  return status.enrolment === undefined ? undefined : status
}

/** This many are revoked at a time, because each takes several writes. */
const concurrency = 20

export type NotRevoked = Refusal<'unknown' | 'already_revoked'>

/**
 * Revokes principals, each with its own audit record, so they get no new attestation. Returns in their order why one
 * was not revoked; undefined: it was. Throws `Unavailable`; those revoked before that stay revoked.
 */
export const revokePrincipals = async (
  administration: Administration,
  by: Operator,
  principals: readonly Principal[],
): Promise<readonly (NotRevoked | undefined)[]> => {
  const registry = registryOf(administration)
  const seconds = Math.floor(administration.clock() / 1000)
  const revoke = (principal: Principal): Promise<NotRevoked | undefined> =>
    change(administration, by, { action: 'principal.revoke', ...principalAuditContext(principal) }, async () => {
      if ((await registry.find(principal)).enrolment === undefined) return { refused: 'unknown' }
      return (await registry.revoke({ principal, revokedAt: seconds })) ? undefined : { refused: 'already_revoked' }
    })
  const results: (NotRevoked | undefined)[] = []
  for (let start = 0; start < principals.length; start += concurrency) {
    // All of them finish before an outage of one is reported.
    const outcomes = await Promise.allSettled(principals.slice(start, start + concurrency).map(revoke))
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') throw outcome.reason
      results.push(outcome.value)
    }
  }
  return results
}

/** Reverses a revocation. Throws `Unavailable`. */
export const restorePrincipal = (
  administration: Administration,
  by: Operator,
  principal: Principal,
): Promise<Refusal<'not_revoked'> | undefined> =>
  change(administration, by, { action: 'principal.restore', ...principalAuditContext(principal) }, async () =>
    (await registryOf(administration).restore(principal)) ? undefined : { refused: 'not_revoked' },
  )

/** Deletes an enrolment. `owner`: the subject to which the id still belongs. Throws `Unavailable`. */
export const releasePrincipal = (
  administration: Administration,
  by: Operator,
  principal: Principal,
): Promise<{ readonly owner?: string } | Refusal<'unknown'>> =>
  change(administration, by, { action: 'principal.release', ...principalAuditContext(principal) }, async () => {
    const registry = registryOf(administration)
    if (!(await registry.release(principal))) return { refused: 'unknown' }
    const owner = await registry.findOwner(principal.principalId)
    return owner === undefined ? {} : { owner }
  })

/**
 * Returns until when verifiers may accept what a principal has received before `now`, in milliseconds since the
 * epoch.
 */
export const attestationsEnd = ({ attestation, clock_tolerance_secs: tolerance }: Config, now: number): number =>
  now + ((attestation?.attestation_ttl_secs ?? 0) + tolerance) * 1000

/**
 * Returns when the last verifier stops using a status list that was fetched before `now`, in milliseconds since the
 * epoch; undefined: there are no lists.
 */
export const statusListsEnd = ({ attestation }: Config, now: number): number | undefined =>
  attestation?.status_list && now + (attestation.status_list.ttl_secs + maxRefreshSeconds) * 1000

export interface PrincipalFilter {
  readonly state?: 'active' | 'revoked'
  readonly subject?: string
  readonly type?: string
  /** The last id of the previous page. */
  readonly after?: string
}

/** An enrolled principal; `id` continues a listing after it. */
export type ListedPrincipal = PrincipalStatus & {
  readonly id: string
  readonly enrolment: NonNullable<PrincipalStatus['enrolment']>
}

const pageSize = 100

/** Reads pages from the index if it is complete, or else all principals. */
const createReadPage = async (stores: Stores, subject: string | undefined) => {
  const stored = collections(stores)
  const registry = createPrincipalRegistry(stored)
  const isIndexed = (await stored.migrations.find(principalMigration)) !== undefined
  return async (after: string | undefined) => {
    if (subject !== undefined && isIndexed) return registry.listOwn(subject, after, pageSize)
    const found = await registry.list(after, pageSize)
    return { found, next: found.at(-1)?.id }
  }
}

/** An enrolled principal with the id of its record. */
export type EnrolledPrincipal = PrincipalStatus & Required<Pick<PrincipalStatus, 'enrolment'>> & { readonly id: string }

/** Reads an enrolled principal by the id that the list shows, with its version. Throws `Unavailable`. */
export const readPrincipal = async (
  { stores }: Deployment,
  id: string,
): Promise<(EnrolledPrincipal & { readonly etag: string }) | undefined> => {
  const stored = collections(stores)
  const enrolment = await stored.principals.find(id)
  if (enrolment === undefined) return undefined
  const status = await createPrincipalRegistry(stored).find(enrolment.principal)
  return { ...status, enrolment, id, etag: etagOf(status) }
}

/** Lists at most `limit` principals after this id: all, or those of one person. Throws `Unavailable`. */
export const listPrincipalsAfter = async (
  { stores }: Deployment,
  {
    subject,
    after,
    limit,
  }: { readonly subject?: string | undefined; readonly after: string | undefined; readonly limit: number },
): Promise<readonly (PrincipalStatus & { readonly id: string })[]> => {
  const registry = createPrincipalRegistry(collections(stores))
  if (subject === undefined) return registry.list(after, limit)
  const { found } = await registry.listOwn(subject, after, limit)
  return found.map(({ enrolment, revokedAt, id }) => ({ id, enrolment, ...(revokedAt !== undefined && { revokedAt }) }))
}

/** Lists the enrolled principals that match the filter, page by page. Throws `Unavailable`. */
export async function* listPrincipals(
  { stores }: Deployment,
  { state, subject, type, after }: PrincipalFilter,
): AsyncGenerator<ListedPrincipal> {
  const readPage = await createReadPage(stores, subject)
  for (let last = after; ;) {
    const { found, next } = await readPage(last)
    for (const { id, enrolment, revokedAt } of found) {
      if (enrolment === undefined) continue
      const { principal } = enrolment
      const isWanted =
        (state === undefined || state === (revokedAt === undefined ? 'active' : 'revoked')) &&
        (subject === undefined || principal.subject === subject) &&
        (type === undefined || principal.principalType === type)
      if (isWanted) yield { id, enrolment, ...(revokedAt !== undefined && { revokedAt }) }
    }
    last = next
    if (last === undefined) return
  }
}

/** Ends the enrolment of everything that a person has enrolled. Returns how many there were. Throws `Unavailable`. */
export const releaseDevicesOf = async (administration: Administration, subject: string): Promise<number> => {
  const registry = registryOf(administration)
  let released = 0
  for await (const { enrolment } of listPrincipals(administration, { subject }))
    if (await registry.release(enrolment.principal)) released++
  return released
}

/** Revokes a device of a person by its id in the list. `unknown`: the person has no such device. Throws `Unavailable`. */
export const revokeDeviceOf = async (
  administration: Administration,
  by: Operator,
  { sub, id }: { readonly sub: string; readonly id: string },
): Promise<NotRevoked | undefined> => {
  if (!/^[\w-]{1,64}$/.test(id)) return { refused: 'unknown' }
  const enrolment = await collections(administration.stores).principals.find(id)
  if (enrolment?.principal.subject !== sub) return { refused: 'unknown' }
  const [refusal] = await revokePrincipals(administration, by, [enrolment.principal])
  return refusal
}
