import { personalRecordsIn } from '../collections/person-records.js'
import { changeStores, readDeployment, withStores } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { counted, personChange, type ClientOfPersonOptions, type PersonOptions } from './person.js'
import { printList } from './table.js'

/** `signet consents list`. */
export const printConsents = async (options: PersonOptions): Promise<void> => {
  const config = await readDeployment(options)
  const found = await withStores(config, (stores) =>
    personalRecordsIn(stores, config, Date.now).listConsents(options.sub),
  )
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

/** `signet consents revoke`. */
export const revokeConsents = async (options: ClientOfPersonOptions): Promise<void> => {
  const { sub, client: client_id } = options
  const config = await readDeployment(options)
  const revoked: string[] = []
  await changeStores(config, personChange('consent.revoke', options, { client_id }), async (stores) => {
    const records = personalRecordsIn(stores, config, Date.now)
    const found = await records.listConsents(sub, client_id)
    if (found.length === 0) throw new CommandFailed('There is no such consent.')
    await records.removeConsents(found)
    revoked.push(...found.map(({ clientId }) => clientId))
    return true
  })
  if (options.json) return printJson({ sub, clients: revoked })
  print(`Revoked ${counted(revoked.length, 'consent')}`)
}
