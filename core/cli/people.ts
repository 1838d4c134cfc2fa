import { endPerson as endAllOf } from '../administration/people.js'
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
