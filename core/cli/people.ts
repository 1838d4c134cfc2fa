import { endPerson as endAllOf } from '../administration/people.js'
import { isRefusal } from '../administration/administration.js'
import { erasePerson as eraseAllOf } from '../administration/person-erasure.js'
import { factorsInJson, printFactorsAfter } from './account-factors.js'
import { administer, readDeployment } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { counted, type PersonOptions } from './person.js'

export interface EndPersonOptions extends PersonOptions {
  /** When true, passkeys, the authenticator app and recovery codes are also removed. */
  readonly factors: boolean
}

/** Implements `signet people end`. */
export const endPerson = async (options: EndPersonOptions): Promise<void> => {
  const { sub, factors: removeFactors } = options
  const config = await readDeployment(options)
  const { isKnown, factors, ...ended } = await administer(config, (administration, by) =>
    endAllOf(administration, by, { sub, removeFactors }),
  )
  if (!isKnown)
    throw new CommandFailed('This subject is unknown. Sessions and grants that it may have had are ended all the same.')
  if (options.json) return printJson({ sub, ...ended, ...factorsInJson(factors) })
  const { sessions, grants, consents } = ended
  print(`Ended ${counted(sessions, 'session')}, ${counted(grants, 'grant')}, ${counted(consents, 'consent')}`)
  printFactorsAfter(factors, `signet people end --sub ${sub}`)
}

const notErased = {
  configured: 'This account is in the configuration: remove it there, reload, and repeat the command.',
  unknown: 'Nothing is stored of this subject.',
} as const

/** Implements `signet people erase`. */
export const erasePerson = async (options: PersonOptions): Promise<void> => {
  const { sub } = options
  const config = await readDeployment(options)
  const erased = await administer(config, (administration, by) => eraseAllOf(administration, by, sub))
  if (isRefusal(erased)) throw new CommandFailed(notErased[erased.refused])
  if (options.json) return printJson({ sub, ...erased })
  const { account, ...counts } = erased
  const what = Object.entries(counts).map(([name, count]) => counted(count, name.replace(/s$/, '')))
  print(`Erased ${account === 'none' ? 'no account' : 'the account'}, ${what.join(', ')}`)
  print('The audit log keeps its lines, and backups what they have.')
}
