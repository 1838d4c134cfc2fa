import type { Config } from '../../config/schema.js'
import { addressBucket } from '../address-bucket.js'
import { collections } from '../collections/collections.js'
import { openShares } from '../collections/shares.js'
import type { Stores } from '../collections/stores.js'
import { parseClientMetadata } from '../oauth/client-metadata.js'
import { isClientId, type Client } from '../oauth/client.js'
import type { RecordStore } from '../storage/ports.js'
import {
  changeStores,
  listAll,
  readDeployment,
  recordChange,
  withStores,
  type DeploymentOptions,
} from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson, printYaml } from './output.js'
import { printList, type Cell } from './table.js'

export interface ClientOptions extends DeploymentOptions {
  readonly json?: true
}

export const isConfigured = (config: Config, clientId: string): boolean =>
  config.clients.some((client) => client['client_id'] === clientId)

/** `signet clients list`. */
export const printClients = async (options: ClientOptions): Promise<void> => {
  const config = await readDeployment(options)
  const stored = await withStores(config, (stores) =>
    listAll(
      async (after) => (await collections(stores).clients.list(after, 100)).map((entry) => entry.record),
      (client) => client.client_id,
    ),
  )
  const rows = [
    ...configuredClients(config).map((client) => ({ source: 'configuration', ...client })),
    ...stored.map((client) => ({ source: sourceOf(client), ...client })),
  ]
  if (options.json) return printJson(rows.map(mask))
  printList(
    'clients',
    ['CLIENT_ID', 'NAME', 'SOURCE', 'STATE', 'AUTHENTICATION', 'GRANTS'],
    rows.map((row) => [
      row.client_id,
      row.client_name ?? '',
      row.source,
      describeState(row),
      row.token_endpoint_auth_method ?? 'client_secret',
      row.grant_types.join(' '),
    ]),
  )
}

/** Of a client in the store: what an operator added, and what registered itself. */
const sourceOf = ({ registration }: Client): string => (registration === undefined ? 'store' : 'registration')

/** As accounts and clients have it. */
export const describeState = ({ disabled }: { readonly disabled?: boolean }): Cell =>
  disabled ? { text: 'disabled', tone: 'red' } : 'active'

/** `signet clients show`. */
export const printClient = async (clientId: string, options: ClientOptions): Promise<void> => {
  const config = await readDeployment(options)
  const client =
    findConfigured(config, clientId) ?? (await withStores(config, (stores) => getClient(config, stores, clientId)))
  const shown = { source: isConfigured(config, clientId) ? 'configuration' : sourceOf(client), ...mask(client) }
  if (options.json) printJson(shown)
  else printYaml(shown)
}

export interface RemoveOptions extends ClientOptions {
  readonly unused?: true
  readonly address?: string
}

/** `signet clients remove`. */
export const removeClients = (clientId: string | undefined, options: RemoveOptions): Promise<void> => {
  const { unused, address } = options
  if (clientId !== undefined && unused === undefined && address === undefined) return removeClient(clientId, options)
  if (clientId !== undefined || unused === undefined)
    throw new CommandFailed('Name either one client or --unused, with or without --address.')
  return removeUnused(options)
}

const removeUnused = async (options: RemoveOptions): Promise<void> => {
  const { address } = options
  const bucket = address === undefined ? undefined : addressBucket(address)
  if (address !== undefined && bucket === undefined) throw new CommandFailed('--address must be an IP address.')
  const isMeant = ({ registration }: Client): boolean =>
    registration?.unused_until !== undefined &&
    registration.initial_access_token === undefined &&
    (bucket === undefined || registration.address === bucket)
  const config = await readDeployment(options)
  const removed = await recordChange(
    config,
    { action: 'client.remove_unused', ...(bucket !== undefined && { address: bucket }) },
    () =>
      withStores(config, async (stores) => {
        // The running service learns that the share has room again.
        await using opened = openShares(stores, Date.now)
        const { openClients } = collections({ ...stores, shares: opened.shares })
        const found = await listAll(
          async (after) => (await openClients.list(after, 100)).map(({ record }) => record),
          ({ client_id }) => client_id,
        )
        const results = []
        for (const { client_id } of found.filter(isMeant))
          results.push(
            await openClients.update(client_id, (current) =>
              current !== undefined && isMeant(current) ? { result: true, write: null } : { result: false },
            ),
          )
        return results.filter(Boolean).length
      }),
  )
  if (options.json) printJson({ removed })
  else print(`Removed ${String(removed)} ${removed === 1 ? 'client' : 'clients'}`)
}

const removeClient = async (clientId: string, options: ClientOptions): Promise<void> => {
  const config = await readDeployment(options)
  const removed = await changeStores(config, { action: 'client.remove', client_id: clientId }, async (stores) => {
    const { clients } = collections(stores)
    return (await findClient(clients, clientId)) !== undefined && (await clients.remove(clientId))
  })
  if (removed) return options.json ? printJson({ client_id: clientId, state: 'removed' }) : print(`Removed ${clientId}`)
  throw new CommandFailed(
    isConfigured(config, clientId)
      ? 'This client is in the configuration: remove it there.'
      : 'There is no such client in the store.',
  )
}

/** What no client can be called is in no store. */
export const findClient = async (clients: RecordStore<Client>, clientId: string): Promise<Client | undefined> =>
  isClientId(clientId) ? await clients.find(clientId) : undefined

const findConfigured = (config: Config, clientId: string): Client | undefined =>
  configuredClients(config).find((client) => client.client_id === clientId)

/** Of the configuration, else of the store. Throws `CommandFailed`. */
export const getClient = async (config: Config, stores: Stores, clientId: string): Promise<Client> => {
  const client = findConfigured(config, clientId) ?? (await findClient(collections(stores).clients, clientId))
  if (client === undefined) throw new CommandFailed('There is no such client.')
  return client
}

const configuredClients = (config: Config): readonly Client[] =>
  config.clients.flatMap(
    (metadata) => parseClientMetadata(metadata, config.scopes_supported, config.security_profile).client ?? [],
  )

/** Not even the hash of a secret is shown. */
const mask = <T extends Client>(client: T): T => ({
  ...client,
  ...(client.client_secret_sha256 !== undefined && { client_secret_sha256: '[secret]' }),
  ...(client.previous_client_secret_sha256 !== undefined && { previous_client_secret_sha256: '[secret]' }),
  ...(client.registration && { registration: { ...client.registration, access_token_sha256: '[secret]' } }),
})
