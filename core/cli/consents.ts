import { isRefusal } from '../administration/administration.js'
import { listConsents, revokeConsents as revokeConsentsOf } from '../administration/consents.js'
import { administer, readDeployment, withStores } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { counted, type ClientOfPersonOptions, type PersonOptions } from './person.js'
import { printList } from './table.js'

/** Implements `signet consents list`. */
export const printConsents = async (options: PersonOptions): Promise<void> => {
  const config = await readDeployment(options)
  const found = await withStores(config, (stores) => listConsents({ config, stores, clock: Date.now }, options.sub))
  const shown = found.map(({ clientId, scope, claims, resource }) => ({
    client_id: clientId,
    scope: scope.join(' '),
    claims,
    resource,
  }))
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
  const config = await readDeployment(options)
  const revoked = await administer(config, (administration, by) =>
    revokeConsentsOf(administration, by, { sub, client_id }),
  )
  if (isRefusal(revoked)) throw new CommandFailed('There is no such consent.')
  const { clients } = revoked
  if (options.json) return printJson({ sub, clients })
  print(`Revoked ${counted(clients.length, 'consent')}`)
}
