import { endEverySession, endSessionsAt, type Ended } from '../host/end-everybody.js'
import { changeStores, readDeployment } from './deployment.js'
import { CommandFailed } from './failure.js'
import type { GrantOptions } from './grants.js'
import { print, printJson } from './output.js'
import { counted } from './person.js'

const report = ({ people, sessions }: Ended, { json }: GrantOptions): void => {
  if (json) return printJson({ people, sessions })
  print(`Ended ${counted(sessions, 'session')} of ${people === 1 ? '1 person' : `${String(people)} people`}`)
}

/** `signet sessions end --all`. */
export const endAllSessions = async (options: GrantOptions): Promise<void> => {
  const config = await readDeployment(options)
  let ended: Ended = { people: 0, sessions: 0 }
  await changeStores(config, { action: 'session.end_all' }, async (stores) => {
    ended = await endEverySession(stores, config, Date.now)
    return true
  })
  report(ended, options)
}

/** `signet sessions end --client`. */
export const endClientSessions = async (client_id: string, options: GrantOptions): Promise<void> => {
  const config = await readDeployment(options)
  let ended: Ended | undefined
  await changeStores(config, { action: 'session.end', client_id }, async (stores) => {
    ended = await endSessionsAt(stores, config, Date.now, client_id)
    return ended !== undefined
  })
  if (ended === undefined) throw new CommandFailed('There is no such client with a backchannel_logout_uri.')
  report(ended, options)
}
