import type { Clock } from '../clock.js'
import { collections } from '../collections/collections.js'
import type { Stores } from '../collections/stores.js'
import { findExternalAccount } from '../interaction/external-accounts.js'
import type { PersonFactor } from '../interaction/factors/person-factor.js'
import { createPersonFactors, factorId, type PersonFactors } from '../interaction/factors/person-factors.js'
import { createOutbox } from '../oauth/back-channel/outbox.js'
import { createPendingApprovals, type PendingApprovals } from '../oauth/ciba/pending-approvals.js'
import { createWaitingApprovals } from '../oauth/ciba/waiting-approvals.js'
import { findPerson, whose, type Who } from './accounts.js'
import { change, type Administration, type NoteChange, type Operator, type Refusal } from './administration.js'
import { findClient } from './clients.js'

/** The factors of people in these stores, apart from passwords. */
export const personFactorsIn = (stores: Stores, clock: Clock): PersonFactors =>
  createPersonFactors({ store: collections(stores).personFactors, clock })

/**
 * The requests of clients (CIBA) that wait for people. Pings are left in the outbox, and the next process that serves
 * delivers them.
 */
const pendingApprovalsIn = ({ config, stores, clock, audit }: Administration): PendingApprovals => {
  const stored = collections(stores)
  return createPendingApprovals({
    requests: stored.backchannelRequests,
    waiting: createWaitingApprovals(stored.waitingApprovals, clock),
    pings: createOutbox({ kind: 'ping', records: stored.pingDeliveries, claims: stored.logoutClaims, clock }),
    audit,
    defaultAudience: config.default_audience,
    findClient: (clientId) => findClient({ config, stores }, clientId),
  })
}

/** A factor as operators see it, without its credential. */
export interface ListedFactor {
  readonly id: string
  readonly kind: PersonFactor['kind']
  /** The name that the person gave a passkey. */
  readonly name?: string
  /** Whether a passkey was copied to other devices (`BS`, Web Authentication Level 3 §6.1) when it was last used. */
  readonly backedUp?: boolean
  /** The number of unused recovery codes. */
  readonly left?: number
  /** Seconds since the epoch, like `lastUsedAt`. */
  readonly createdAt: number
  readonly lastUsedAt?: number
}

const listed = (factor: PersonFactor): ListedFactor => ({
  id: factorId(factor),
  kind: factor.kind,
  ...(factor.kind === 'passkey' && { name: factor.name, backedUp: factor.backedUp }),
  ...(factor.kind === 'recovery_codes' && { left: factor.hashes.length }),
  createdAt: factor.createdAt,
  ...(factor.lastUsedAt !== undefined && { lastUsedAt: factor.lastUsedAt }),
})

/**
 * Lists the factors of a person. The audit log records who looks at them, because they protect the person. Throws
 * `Unavailable`.
 */
export const listFactors = (
  administration: Administration,
  by: Operator,
  who: Who,
): Promise<readonly ListedFactor[] | Refusal<'unknown'>> => {
  return change(administration, by, { action: 'account.list_factors', ...whose(who) }, async () => {
    const person = await findPerson(administration, who)
    if ('refused' in person) return person
    return factorsOf(administration, person.sub)
  })
}

/** The factors of a person, for a caller that records what it reads. Throws `Unavailable`. */
export const factorsOf = async (
  { stores, clock }: Pick<Administration, 'stores' | 'clock'>,
  sub: string,
): Promise<readonly ListedFactor[]> => (await personFactorsIn(stores, clock).list(sub)).map(listed)

/** Removes a factor of a person. `factor`: the person has none with this id. Throws `Unavailable`. */
export const removeFactor = (
  administration: Administration,
  by: Operator,
  { who, factor }: { readonly who: Who; readonly factor: string },
): Promise<ListedFactor | Refusal<'unknown' | 'factor'>> => {
  const { stores, clock } = administration
  const what = { action: 'account.remove_factor', ...whose(who), factor }
  return change(administration, by, what, async () => {
    const person = await findPerson(administration, who)
    if ('refused' in person) return person
    const removed = await personFactorsIn(stores, clock).remove(person.sub, factor)
    return removed === undefined ? { refused: 'factor' } : listed(removed)
  })
}

/** The outcome for a person's factors, apart from the password. */
export interface FactorsAfter {
  readonly state: 'removed' | 'kept'
  readonly factors: readonly ListedFactor[]
  /**
   * Requests of clients (CIBA) that the person has not decided on a device. They end with the factors, or are still
   * waiting.
   */
  readonly approvals: number
  /** The external method that signs the person in. Only the external service can end it. */
  readonly method?: string
}

/**
 * Removes the factors of a person, or finds which ones the person can still sign in with. Call it after everything
 * that sign-ins have opened is over: from then on only a person who has signed in again can add one. Throws
 * `Unavailable`.
 */
export const reconcileFactors = async (
  administration: Administration,
  by: Operator,
  { sub, remove }: { readonly sub: string; readonly remove: boolean },
  note: NoteChange,
): Promise<FactorsAfter> => {
  const { stores, clock } = administration
  const people = personFactorsIn(stores, clock)
  const factors = remove ? await people.removeAll(sub) : await people.list(sub)
  if (remove) note({ factors_removed: factors.map(factorId) })
  const approvals = await reconcileApprovals(administration, by, { sub, remove })
  const external = await findExternalAccount(collections(stores).externalAccounts, sub)
  return {
    state: remove ? 'removed' : 'kept',
    factors: factors.map(listed),
    approvals,
    ...(external && { method: external.method }),
  }
}

/**
 * A thief's device could otherwise approve what a client requested before. Resolves with the number of requests that
 * wait or were ended.
 */
const reconcileApprovals = async (
  administration: Administration,
  by: Operator,
  { sub, remove }: { readonly sub: string; readonly remove: boolean },
): Promise<number> => {
  const pending = pendingApprovalsIn(administration)
  const open = await pending.list(sub)
  if (!remove) return open.length
  let denied = 0
  for (const { approvalId } of open) if (await pending.deny(sub, approvalId, { by })) denied++
  return denied
}
