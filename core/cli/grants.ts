import { isRefusal } from '../administration/administration.js'
import type { DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { openPeople } from './open-people.js'
import { counted, type ClientOfPersonOptions, type PersonOptions } from './person.js'
import { printList } from './table.js'

export interface GrantOptions extends DeploymentOptions {
  readonly json?: true
}

/** Implements `signet grants revoke GRANT_ID`, for operators who have only the audit log. */
export const revokeGrant = async (grantId: string, options: GrantOptions): Promise<void> => {
  const people = await openPeople(options)
  const revoked = await people.revokeGrant(grantId)
  if (isRefusal(revoked)) throw new CommandFailed('This is not a grant id.')
  const { isKnown: known } = revoked
  if (!known) process.exitCode = 1
  if (options.json) return printJson({ grant_id: grantId, state: 'revoked', known })
  if (known) return print(`Revoked ${grantId}`)
  throw new CommandFailed(
    'No grant of a person has this id: check it. Tokens of such a grant, if there are any, are refused from now on.',
  )
}

const unlisted =
  'One that an earlier version gave is listed once it is used; `grants revoke --sub` ends it all the same.'

/** Implements `signet grants list`. */
export const printGrants = async (options: PersonOptions): Promise<void> => {
  const people = await openPeople(options)
  const shown = await people.listGrants(options.sub)
  if (options.json) return printJson(shown)
  if (shown.length === 0) return print(`No grant of this person is listed. ${unlisted}`)
  printList(
    'grants of this person',
    ['GRANT_ID', 'CLIENT_ID', 'SCOPE', 'DETAILS', 'GRANTED'],
    shown.map(({ authorization_details: details = [], ...row }) => [
      ...[row.grant_id, row.client_id, row.scope],
      details.map(({ type }) => String(type)).join(' '),
      row.granted_at,
    ]),
  )
}

/** Implements `signet grants revoke --sub`. */
export const revokeGrantsOf = async (options: ClientOfPersonOptions): Promise<void> => {
  const { sub, client: client_id } = options
  const people = await openPeople(options)
  const grants = await people.revokeGrantsOf(sub, client_id)
  if (grants.length === 0) process.exitCode = 1
  if (options.json) return printJson({ sub, grants })
  if (grants.length === 0)
    throw new CommandFailed('No such grant is listed. Tokens of one, if there are any, are refused from now on.')
  print(`Revoked ${counted(grants.length, 'grant')}`)
}
