import { isRefusal } from '../administration/administration.js'
import type { Ended } from '../administration/sessions.js'
import { CommandFailed } from './failure.js'
import type { GrantOptions } from './grants.js'
import { print, printJson } from './output.js'
import { openPeople } from './open-people.js'
import { counted, type PersonOptions } from './person.js'
import { printList } from './table.js'

export interface SessionOptions extends PersonOptions {
  readonly sid?: string
}

/** Implements `signet sessions list`. */
export const printSessions = async (options: PersonOptions): Promise<void> => {
  const people = await openPeople(options)
  const shown = await people.listSessions(options.sub)
  if (options.json) return printJson(shown)
  printList(
    'sessions of this person',
    ['SID', 'SIGNED_IN', 'AMR', 'BROWSER', 'SYSTEM'],
    shown.map((row) => [row.sid, row.signed_in_at, row.amr.join(' '), row.browser ?? '', row.system ?? '']),
  )
}

/** Implements `signet sessions end --sub`. */
export const endSessions = async (options: SessionOptions): Promise<void> => {
  const { sub, sid } = options
  const people = await openPeople(options)
  const sids = await people.endSessions(sub, sid)
  if (isRefusal(sids)) throw new CommandFailed('There is no such session.')
  if (options.json) return printJson({ sub, sessions: sids })
  print(`Ended ${counted(sids.length, 'session')}`)
}

const report = ({ people, sessions }: Ended, { json }: GrantOptions): void => {
  if (json) return printJson({ people, sessions })
  print(`Ended ${counted(sessions, 'session')} of ${people === 1 ? '1 person' : `${String(people)} people`}`)
}

/** Implements `signet sessions end --all`. */
export const endAllSessions = async (options: GrantOptions): Promise<void> => {
  const people = await openPeople(options)
  report(await people.endAllSessions(), options)
}

/** Implements `signet sessions end --client`. */
export const endClientSessions = async (client_id: string, options: GrantOptions): Promise<void> => {
  const people = await openPeople(options)
  const ended = await people.endSessionsAt(client_id)
  if (isRefusal(ended)) throw new CommandFailed('There is no such client with a backchannel_logout_uri.')
  report(ended, options)
}
