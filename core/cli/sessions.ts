import { isoTime } from '../clock.js'
import { personalRecordsIn } from '../collections/person-records.js'
import { changeStores, readDeployment, withStores } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { counted, personChange, type PersonOptions } from './person.js'
import { printList } from './table.js'

export interface SessionOptions extends PersonOptions {
  readonly sid?: string
}

/** `signet sessions list`. */
export const printSessions = async (options: PersonOptions): Promise<void> => {
  const config = await readDeployment(options)
  const found = await withStores(config, (stores) =>
    personalRecordsIn(stores, config, Date.now).listSessions(options.sub),
  )
  const shown = found.map(({ sid, authTime, amr, seen: { browser, system } = {} }) => ({
    ...{ sid, signed_in_at: isoTime(authTime * 1000), amr },
    ...(browser !== undefined && { browser }),
    ...(system !== undefined && { system }),
  }))
  if (options.json) return printJson(shown)
  printList(
    'sessions of this person',
    ['SID', 'SIGNED_IN', 'AMR', 'BROWSER', 'SYSTEM'],
    shown.map((row) => [row.sid, row.signed_in_at, row.amr.join(' '), row.browser ?? '', row.system ?? '']),
  )
}

/** `signet sessions end`. */
export const endSessions = async (options: SessionOptions): Promise<void> => {
  const { sub, sid } = options
  const config = await readDeployment(options)
  const ended: string[] = []
  await changeStores(config, personChange('session.end', options, { sid }), async (stores) => {
    const records = personalRecordsIn(stores, config, Date.now)
    const found = await records.listSessions(sub, sid)
    if (found.length === 0) throw new CommandFailed('There is no such session.')
    await records.endSessions(sub, found)
    ended.push(...found.map((session) => session.sid))
    return true
  })
  if (options.json) return printJson({ sub, sessions: ended })
  print(`Ended ${counted(ended.length, 'session')}`)
}
