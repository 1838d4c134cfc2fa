import { isRefusal } from '../administration/administration.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { openPeople } from './open-people.js'
import { counted, type ClientOfPersonOptions, type PersonOptions } from './person.js'
import { printList } from './table.js'

/** Implements `signet consents list`. */
export const printConsents = async (options: PersonOptions): Promise<void> => {
  const people = await openPeople(options)
  const shown = await people.listConsents(options.sub)
  if (options.json) return printJson(shown)
  printList(
    'consents of this person',
    ['CLIENT_ID', 'SCOPE', 'CLAIMS', 'RESOURCE'],
    shown.map((row) => [row.client_id, row.scope, row.claims.join(' '), row.resource.join(' ')]),
  )
}

/** Implements `signet consents revoke`. */
export const revokeConsents = async (options: ClientOfPersonOptions): Promise<void> => {
  const { sub, client: client_id } = options
  const people = await openPeople(options)
  const clients = await people.revokeConsents(sub, client_id)
  if (isRefusal(clients)) throw new CommandFailed('There is no such consent.')
  if (options.json) return printJson({ sub, clients })
  print(`Revoked ${counted(clients.length, 'consent')}`)
}
