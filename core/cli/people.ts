import { endSubjectIn, personalRecordsIn } from '../collections/person-records.js'
import { openAccountStore } from '../interaction/accounts.js'
import { factorsInJson, printFactorsAfter, settleFactors, type FactorsAfter } from './account-factors.js'
import { changeStores, readDeployment } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { counted, personChange, type PersonOptions } from './person.js'

export interface EndPersonOptions extends PersonOptions {
  /** Whether passkeys, the authenticator app and recovery codes go, too. */
  readonly factors: boolean
}

/** `signet people end`: all of it, what no index knows included. */
export const endPerson = async (options: EndPersonOptions): Promise<void> => {
  const { sub } = options
  const config = await readDeployment(options)
  let ended = { sessions: 0, grants: 0, consents: 0 }
  let after: FactorsAfter = { state: 'kept', factors: [], approvals: 0 }
  let isKnown = config.accounts.some((account) => account.sub === sub)
  await changeStores(config, personChange('person.end', options), async (stores, note) => {
    const records = personalRecordsIn(stores, config, Date.now)
    const [account, sessions, grants] = await Promise.all([
      openAccountStore(stores.records).subjects.find(sub),
      records.listSessions(sub),
      records.listGrants(sub),
    ])
    // This alone ends all that was opened by now, whatever the lists know. From here on nobody consents in an old session.
    await endSubjectIn(stores, config, Date.now)(sub)
    const consents = await records.listConsents(sub)
    after = await settleFactors(stores, sub, options.factors, note)
    const found = [sessions, grants, consents, after.factors]
    isKnown ||=
      account !== undefined || after.method !== undefined || after.approvals > 0 || found.some((all) => all.length > 0)
    await records.removeSessions(sessions)
    await records.revokeGrants(grants)
    await records.removeConsents(consents)
    ended = { sessions: sessions.length, grants: grants.length, consents: consents.length }
    return true
  })
  if (!isKnown)
    throw new CommandFailed('This subject is unknown. Sessions and grants that it may have had are ended all the same.')
  if (options.json) return printJson({ sub, ...ended, ...factorsInJson(after) })
  const { sessions, grants, consents } = ended
  print(`Ended ${counted(sessions, 'session')}, ${counted(grants, 'grant')}, ${counted(consents, 'consent')}`)
  printFactorsAfter(after, `signet people end --sub ${sub}`)
}
