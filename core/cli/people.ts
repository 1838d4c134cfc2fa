import { isRefusal } from '../administration/administration.js'
import { factorsInJson, printFactorsAfter } from './account-factors.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { openPeople } from './open-people.js'
import { counted, type PersonOptions } from './person.js'

export interface EndPersonOptions extends PersonOptions {
  /** When true, passkeys, the authenticator app and recovery codes are also removed. */
  readonly factors: boolean
}

/** Implements `signet people end`. */
export const endPerson = async (options: EndPersonOptions): Promise<void> => {
  const { sub, factors: removeFactors } = options
  const people = await openPeople(options)
  const { known, sessions, grants, consents, ...after } = await people.end(sub, removeFactors)
  if (!known)
    throw new CommandFailed('This subject is unknown. Sessions and grants that it may have had are ended all the same.')
  if (options.json) return printJson({ sub, sessions, grants, consents, ...factorsInJson(after) })
  print(`Ended ${counted(sessions, 'session')}, ${counted(grants, 'grant')}, ${counted(consents, 'consent')}`)
  printFactorsAfter(after, `signet people end --sub ${sub}`)
}

const notErased = {
  configured: 'This account is in the configuration: remove it there, reload, and repeat the command.',
  unknown: 'Nothing is stored of this subject.',
} as const

/** Implements `signet people erase`. */
export const erasePerson = async (options: PersonOptions): Promise<void> => {
  const { sub } = options
  const people = await openPeople(options)
  const erased = await people.erase(sub)
  if (isRefusal(erased)) throw new CommandFailed(notErased[erased.refused])
  if (options.json) return printJson({ sub, ...erased })
  const { account, ...counts } = erased
  const what = Object.entries(counts).map(([name, count]) => counted(count, name.replace(/s$/, '')))
  print(`Erased ${account === 'none' ? 'no account' : 'the account'}, ${what.join(', ')}`)
  print('The audit log keeps its lines, and backups what they have.')
}
