import { isRefusal } from '../administration/administration.js'
import { CommandFailed } from './failure.js'
import { printError, printFields, printJson } from './output.js'
import { openPeople } from './open-people.js'
import { noSuchPerson, whoOf, type WhoOptions } from './person.js'

export interface RecoverOptions extends WhoOptions {
  /** The number of seconds for which the link is valid. */
  readonly expiresIn: number
}

const notIssued = {
  off: 'A recovery link leads to /account, and account_page is off.',
  too_long: 'A link is valid for 24h at the most.',
  disabled: 'The account is disabled: enable it first.',
} as const

/** Implements `signet accounts recover`, which prints a link only this once; the store gets its hash. */
export const printRecoveryLink = async (options: RecoverOptions): Promise<void> => {
  const people = await openPeople(options)
  const issued = await people.recover(whoOf(options), options.expiresIn)
  if (isRefusal(issued))
    throw issued.refused === 'unknown' ? noSuchPerson() : new CommandFailed(notIssued[issued.refused])
  const { sub, recovery, link, expires_at, isKnown } = issued
  if (!isKnown) printError('warning: no account here has this subject: the link works only if a plugin knows one')
  if (options.json) return printJson({ sub, recovery, link, expires_at })
  printFields({ sub, recovery, link, expires: expires_at })
  printError('Shown only once, good once. Make sure whom you give it to: it lets them set up how this person signs in.')
}
