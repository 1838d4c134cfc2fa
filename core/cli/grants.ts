import { isoTime } from '../clock.js'
import { collections } from '../collections/collections.js'
import { grantLifetime } from '../keys/lifecycle/open-ring.js'
import { hasGrantEntry } from '../oauth/grant-index.js'
import { personalRecordsIn } from '../collections/person-records.js'
import { changeStores, readDeployment, withStores, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { counted, personChange, type ClientOfPersonOptions, type PersonOptions } from './person.js'
import { printList } from './table.js'

export interface GrantOptions extends DeploymentOptions {
  readonly json?: true
}

/** `signet grants revoke`: what `/revoke` does with a refresh token, for those who have only the audit log. */
export const revokeGrant = async (grantId: string, options: GrantOptions): Promise<void> => {
  if (!/^[\w-]{1,128}$/.test(grantId)) throw new CommandFailed('This is not a grant id.')
  const config = await readDeployment(options)
  const found = { known: false }
  await changeStores(config, { action: 'grant.revoke', grant_id: grantId }, async (stores) => {
    await collections(stores).revocations.revoke(grantId, grantLifetime(config))
    found.known = await hasGrantEntry(collections(stores).grantIndex, grantId)
    return true
  })
  const { known } = found
  if (!known) process.exitCode = 1
  if (options.json) return printJson({ grant_id: grantId, state: 'revoked', known })
  if (known) return print(`Revoked ${grantId}`)
  throw new CommandFailed(
    'No grant of a person has this id: check it. Tokens of such a grant, if there are any, are refused from now on.',
  )
}

const unlisted =
  'One that an earlier version gave is listed once it is used; `grants revoke --sub` ends it all the same.'

/** `signet grants list`. */
export const printGrants = async (options: PersonOptions): Promise<void> => {
  const config = await readDeployment(options)
  const found = await withStores(config, (stores) =>
    personalRecordsIn(stores, config, Date.now).listGrants(options.sub),
  )
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

/** `signet grants revoke --sub`. */
export const revokeGrantsOf = async (options: ClientOfPersonOptions): Promise<void> => {
  const { sub, client: client_id } = options
  const config = await readDeployment(options)
  const revoked: string[] = []
  await changeStores(config, personChange('grant.revoke', options, { client_id }), async (stores) => {
    const found = await personalRecordsIn(stores, config, Date.now).endGrantsOf(sub, client_id)
    revoked.push(...found.map(({ grantId }) => grantId))
    return true
  })
  if (revoked.length === 0) process.exitCode = 1
  if (options.json) return printJson({ sub, grants: revoked })
  if (revoked.length === 0)
    throw new CommandFailed('No such grant is listed. Tokens of one, if there are any, are refused from now on.')
  print(`Revoked ${counted(revoked.length, 'grant')}`)
}
