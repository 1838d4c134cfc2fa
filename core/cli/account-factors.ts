import { isRefusal } from '../administration/administration.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { openPeople } from './open-people.js'
import type { ShownFactor, ShownFactorsAfter } from './people-administration.js'
import { counted, noSuchPerson, whoOf, type WhoOptions } from './person.js'
import { printList } from './table.js'

const detailOf = ({ name, left }: ShownFactor): string => name ?? (left === undefined ? '' : `${String(left)} left`)

/** Implements `signet accounts factors`. The audit log records who looks at the factors that protect a person. */
export const printFactors = async (options: WhoOptions): Promise<void> => {
  const people = await openPeople(options)
  const factors = await people.listFactors(whoOf(options))
  if (isRefusal(factors)) throw noSuchPerson()
  if (options.json) return printJson(factors)
  printFactorList(factors)
}

const printFactorList = (factors: readonly ShownFactor[]): void =>
  printList(
    'factors',
    ['ID', 'NAME', 'CREATED', 'LAST USED'],
    factors.map((factor) => {
      const { id, created_at: created, last_used_at: used = '' } = factor
      return [id, detailOf(factor), created, used]
    }),
  )

/** Describes what happened to the factors of a person, for `--json`. */
export const factorsInJson = ({ factors_state: state, factors, approvals, method }: ShownFactorsAfter) => ({
  [state === 'removed' ? 'factors_removed' : 'factors_kept']: factors,
  [state === 'removed' ? 'approvals_ended' : 'approvals_waiting']: approvals,
  ...(method !== undefined && { signs_in_by: method }),
})

/** Prints what a person can still sign in with, and how to end it. `how` is the command that removes all of it. */
export const printFactorsAfter = (
  { factors_state: state, factors, approvals, method }: ShownFactorsAfter,
  how: string,
): void => {
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

/** Implements `signet accounts remove-factor`. */
export const removeFactorFrom = async (factor: string, options: WhoOptions): Promise<void> => {
  const people = await openPeople(options)
  const removed = await people.removeFactor(whoOf(options), factor)
  if (isRefusal(removed)) {
    if (removed.refused === 'unknown') throw noSuchPerson()
    throw new CommandFailed('There is no such factor: `signet accounts factors` lists their ids.')
  }
  if (options.json) return printJson({ ...removed, state: 'removed' })
  print(`Removed ${factor}`)
}
