import { isoTime } from '../clock.js'
import { collections } from '../collections/collections.js'
import type { Stores } from '../collections/stores.js'
import type { PersonFactor } from '../interaction/factors/person-factor.js'
import { findExternalAccount } from '../interaction/external-accounts.js'
import { createPersonFactors, factorId, type PersonFactors } from '../interaction/factors/person-factors.js'
import { createWaitingApprovals } from '../oauth/ciba/waiting-approvals.js'
import { readDeployment, recordChange, withStores, type NoteChange } from './deployment.js'
import { CommandFailed } from './failure.js'
import { findPerson, whose, type WhoOptions } from './find-person.js'
import { print, printJson } from './output.js'
import { counted } from './person.js'
import { printList } from './table.js'

/** What people sign in with beside passwords, in these stores. */
export const personFactorsIn = (stores: Stores): PersonFactors =>
  createPersonFactors({ store: collections(stores).personFactors, clock: Date.now })

/** As commands print it. */
export const describeFactor = (factor: PersonFactor) => ({
  id: factorId(factor),
  kind: factor.kind,
  ...(factor.kind === 'passkey' && { name: factor.name, backed_up: factor.backedUp }),
  ...(factor.kind === 'recovery_codes' && { left: factor.hashes.length }),
  created_at: isoTime(factor.createdAt * 1000),
  ...(factor.lastUsedAt !== undefined && { last_used_at: isoTime(factor.lastUsedAt * 1000) }),
})

const detailOf = (factor: PersonFactor): string => {
  if (factor.kind === 'passkey') return factor.name
  return factor.kind === 'recovery_codes' ? `${String(factor.hashes.length)} left` : ''
}

/** `signet accounts factors`. Who looks at what protects a person is in the audit log. */
export const printFactors = async (options: WhoOptions): Promise<void> => {
  const config = await readDeployment(options)
  const change = { action: 'account.list_factors', ...whose(options) }
  const factors = await recordChange(config, change, () =>
    withStores(config, async (stores) => personFactorsIn(stores).list((await findPerson(config, stores, options)).sub)),
  )
  if (options.json) return printJson(factors.map(describeFactor))
  printFactorList(factors)
}

const printFactorList = (factors: readonly PersonFactor[]): void =>
  printList(
    'factors',
    ['ID', 'NAME', 'CREATED', 'LAST USED'],
    factors.map((factor) => {
      const { id, created_at: created, last_used_at: used = '' } = describeFactor(factor)
      return [id, detailOf(factor), created, used]
    }),
  )

/** What became of the ways in that are not a password, of one person. */
export interface FactorsAfter {
  readonly state: 'removed' | 'kept'
  readonly factors: readonly PersonFactor[]
  /** Requests of clients (CIBA) that the person has not decided about on a device: ended with the factors, or still waiting. */
  readonly approvals: number
  /** The method outside that signs the person in, and that only the service outside can end. */
  readonly method?: string
}

/**
 * Removes the factors of a person, or finds out which ones still sign the person in. Call it after all that sign-ins have opened is
 * over: nobody adds one from then on who has not signed in again. Throws `Unavailable`.
 */
export const settleFactors = async (
  stores: Stores,
  sub: string,
  remove: boolean,
  note: NoteChange,
): Promise<FactorsAfter> => {
  const people = personFactorsIn(stores)
  const factors = remove ? await people.removeAll(sub) : await people.list(sub)
  if (remove) note({ factors_removed: factors.map(factorId) })
  const approvals = await settleApprovals(stores, sub, remove)
  const external = await findExternalAccount(collections(stores).externalAccounts, sub)
  return { state: remove ? 'removed' : 'kept', factors, approvals, ...(external && { method: external.method }) }
}

/** A device of the thief would approve what the client asked before. Resolves with how many there are, or were. */
const settleApprovals = async (stores: Stores, sub: string, remove: boolean): Promise<number> => {
  const { waitingApprovals, backchannelRequests } = collections(stores)
  const waiting = createWaitingApprovals(waitingApprovals, Date.now)
  const open = await waiting.list(sub)
  if (!remove) return open.length
  for (const { approvalId } of open) {
    await backchannelRequests.decide(approvalId, 'denied')
    await waiting.leave(sub, approvalId)
  }
  return open.length
}

/** The same for `--json`. */
export const factorsInJson = ({ state, factors, approvals, method }: FactorsAfter) => ({
  [state === 'removed' ? 'factors_removed' : 'factors_kept']: factors.map(describeFactor),
  [state === 'removed' ? 'approvals_ended' : 'approvals_waiting']: approvals,
  ...(method !== undefined && { signs_in_by: method }),
})

/** Says with what a person still signs in, and how to end it; `how` is what removes all of it. */
export const printFactorsAfter = ({ state, factors, approvals, method }: FactorsAfter, how: string): void => {
  if (factors.length > 0) {
    print(
      state === 'removed'
        ? `Removed ${counted(factors.length, 'factor')}:`
        : `${counted(factors.length, 'factor')} of this person ${factors.length === 1 ? 'remains' : 'remain'}:`,
    )
    printFactorList(factors)
    if (state === 'kept') print(`To remove all: ${how}. To remove one: signet accounts remove-factor ID`)
  }
  if (approvals > 0)
    print(
      state === 'removed'
        ? `Ended ${counted(approvals, 'request')} that waited for approval on a device`
        : `${counted(approvals, 'request')} for approval on a device of this person: ${how} ends what waits`,
    )
  if (method !== undefined) print(`The sign-in method ${method} signs this person in as well: end that there.`)
}

/** `signet accounts remove-factor`. */
export const removeFactorFrom = async (factor: string, options: WhoOptions): Promise<void> => {
  const config = await readDeployment(options)
  const removed = await recordChange(config, { action: 'account.remove_factor', ...whose(options), factor }, () =>
    withStores(
      config,
      async (stores) =>
        (await personFactorsIn(stores).remove((await findPerson(config, stores, options)).sub, factor)) ?? false,
    ),
  )
  if (removed === false) throw new CommandFailed('There is no such factor: `signet accounts factors` lists their ids.')
  if (options.json) return printJson({ ...describeFactor(removed), state: 'removed' })
  print(`Removed ${factor}`)
}
