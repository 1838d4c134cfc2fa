import { isRefusal } from '../administration/administration.js'
import { listGrants, revokeGrant as revokeOne, revokeGrantsOf as revokeAllOf } from '../administration/grants.js'
import { isoTime } from '../clock.js'
import { administer, readDeployment, withStores, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { counted, type ClientOfPersonOptions, type PersonOptions } from './person.js'
import { printList } from './table.js'

export interface GrantOptions extends DeploymentOptions {
  readonly json?: true
}

/** Implements `signet grants revoke GRANT_ID`, for operators who have only the audit log. */
export const revokeGrant = async (grantId: string, options: GrantOptions): Promise<void> => {
  const config = await readDeployment(options)
  const revoked = await administer(config, (administration, by) => revokeOne(administration, by, grantId))
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
  const config = await readDeployment(options)
  const found = await withStores(config, (stores) => listGrants({ config, stores, clock: Date.now }, options.sub))
  const shown = found.map(
    ({ grantId, clientId, scope, resource, authorizationDetails: details, authTime, grantedAt }) => ({
      grant_id: grantId,
      client_id: clientId,
      scope: scope.join(' '),
      resource,
      ...(details && { authorization_details: details }),
      signed_in_at: isoTime(authTime * 1000),
      granted_at: isoTime(grantedAt * 1000),
    }),
  )
  if (options.json) return printJson(shown)
  if (shown.length === 0) return print(`No grant of this person is listed. ${unlisted}`)
  printList(
    'grants of this person',
    ['GRANT_ID', 'CLIENT_ID', 'SCOPE', 'DETAILS', 'GRANTED'],
    shown.map(({ authorization_details: details = [], ...row }) => [
      ...[row.grant_id, row.client_id, row.scope],
      details.map(({ type }) => type).join(' '),
      row.granted_at,
    ]),
  )
}

/** Implements `signet grants revoke --sub`. */
export const revokeGrantsOf = async (options: ClientOfPersonOptions): Promise<void> => {
  const { sub, client: client_id } = options
  const config = await readDeployment(options)
  const { grants } = await administer(config, (administration, by) =>
    revokeAllOf(administration, by, { sub, client_id }),
  )
  if (grants.length === 0) process.exitCode = 1
  if (options.json) return printJson({ sub, grants })
  if (grants.length === 0)
    throw new CommandFailed('No such grant is listed. Tokens of one, if there are any, are refused from now on.')
  print(`Revoked ${counted(grants.length, 'grant')}`)
}
