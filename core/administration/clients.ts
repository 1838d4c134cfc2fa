import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../config/schema.js'
import { addressBucket } from '../address-bucket.js'
import { collections } from '../collections/collections.js'
import { openQuotas } from '../collections/quotas.js'
import { parseClientMetadata } from '../oauth/clients/client-metadata.js'
import { isClientId, type Client } from '../oauth/clients/client.js'
import type { RecordStore } from '../storage/ports.js'
import { change, listAll, type Administration, type Deployment, type Operator, type Refusal } from './administration.js'

/** The origin of a client: the configuration, an operator, or its own registration. */
export type ClientSource = 'configuration' | 'store' | 'registration'

/** A client as operators see it: `[secret]` stands for each hash of a secret. */
export interface ListedClient extends Client {
  readonly source: ClientSource
}

/** True for a client that the store cannot change. */
export const isConfigured = (config: Config, clientId: string): boolean =>
  config.clients.some((client) => client['client_id'] === clientId)

const configuredClients = (config: Config): readonly Client[] =>
  config.clients.flatMap(
    (metadata) => parseClientMetadata(metadata, config.scopes_supported, config.security_profile).client ?? [],
  )

/** Finds a client of the store. Throws `Unavailable`. */
export const findStoredClient = async (
  clients: Pick<RecordStore<Client>, 'find'>,
  clientId: string,
): Promise<Client | undefined> => (isClientId(clientId) ? await clients.find(clientId) : undefined)

/** Finds a client of the configuration, or else of the store. Throws `Unavailable`. */
export const findClient = async ({ config, stores }: Deployment, clientId: string): Promise<Client | undefined> =>
  configuredClients(config).find((client) => client.client_id === clientId) ??
  (await findStoredClient(collections(stores).clients, clientId))

const listed = (source: ClientSource, client: Client): ListedClient => ({
  source,
  ...client,
  ...(client.client_secret_sha256 !== undefined && { client_secret_sha256: '[secret]' }),
  ...(client.previous_client_secret_sha256 !== undefined && { previous_client_secret_sha256: '[secret]' }),
  ...(client.registration && { registration: { ...client.registration, access_token_sha256: '[secret]' } }),
})

const sourceOf = ({ registration }: Client): ClientSource => (registration === undefined ? 'store' : 'registration')

/** Lists all clients, those of the configuration first. Throws `Unavailable`. */
export const listClients = async ({ config, stores }: Deployment): Promise<readonly ListedClient[]> => {
  const { clients } = collections(stores)
  const stored = await listAll(
    async (after) => (await clients.list(after, 100)).map(({ record }) => record),
    ({ client_id }) => client_id,
  )
  return [
    ...configuredClients(config).map((client) => listed('configuration', client)),
    ...stored.map((client) => listed(sourceOf(client), client)),
  ]
}

/** Shows one client. Throws `Unavailable`. */
export const showClient = async (deployment: Deployment, clientId: string): Promise<ListedClient | undefined> => {
  const client = await findClient(deployment, clientId)
  if (client === undefined) return undefined
  return listed(isConfigured(deployment.config, clientId) ? 'configuration' : sourceOf(client), client)
}

export type ClientRefusal = Refusal<'unknown' | 'configured' | 'changed_meanwhile'>

/**
 * Changes a client of the store in one step and returns it as it is now. `changed_meanwhile`: another change was made
 * since it was read, by its own registration for example. Throws `Unavailable`, and what `alter` throws.
 */
export const changeClient = async <Other extends Refusal = never>(
  administration: Administration,
  by: Operator,
  { action, client_id }: { readonly action: string; readonly client_id: string },
  alter: (before: Client) => Promise<Client | Other>,
): Promise<{ readonly client: Client } | ClientRefusal | Other> => {
  if (isConfigured(administration.config, client_id)) return { refused: 'configured' }
  const { clients } = collections(administration.stores)
  return change(administration, by, { action: `client.${action}`, client_id }, async () => {
    const before = await findStoredClient(clients, client_id)
    if (before === undefined) return { refused: 'unknown' }
    const after = await alter(before)
    if ('refused' in after) return after
    const isChanged = await clients.update(client_id, (current, expiresAt) =>
      isDeepStrictEqual(current, before) ? { result: true, write: { record: after, expiresAt } } : { result: false },
    )
    return isChanged ? { client: after } : { refused: 'changed_meanwhile' }
  })
}

/** Disables a client, so that all of its requests are refused, or enables it again. */
export const setClientDisabled = (
  administration: Administration,
  by: Operator,
  { client_id, disabled }: { readonly client_id: string; readonly disabled: boolean },
): Promise<{ readonly client: Client } | ClientRefusal> =>
  changeClient<never>(administration, by, { action: disabled ? 'disable' : 'enable', client_id }, (before) =>
    Promise.resolve({ ...before, disabled }),
  )

/** Removes a client from the store. Throws `Unavailable`. */
export const removeClient = async (
  administration: Administration,
  by: Operator,
  client_id: string,
): Promise<{ readonly client_id: string } | Refusal<'unknown' | 'configured'>> => {
  const { clients } = collections(administration.stores)
  return change(administration, by, { action: 'client.remove', client_id }, async () => {
    const known = (await findStoredClient(clients, client_id)) !== undefined
    if (known && (await clients.remove(client_id))) return { client_id }
    return { refused: isConfigured(administration.config, client_id) ? 'configured' : 'unknown' }
  })
}

/**
 * Removes the clients that registered themselves without an initial access token and have never been used: all of
 * them, or those of one address. Returns how many. Throws `Unavailable`.
 */
export const removeUnusedClients = async (
  administration: Administration,
  by: Operator,
  { address }: { readonly address?: string },
): Promise<{ readonly removed: number } | Refusal<'address'>> => {
  const bucket = address === undefined ? undefined : addressBucket(address)
  if (address !== undefined && bucket === undefined) return { refused: 'address' }
  const isMeant = ({ registration }: Client): boolean =>
    registration?.unused_until !== undefined &&
    registration.initial_access_token === undefined &&
    (bucket === undefined || registration.address === bucket)
  const { stores, clock } = administration
  const what = { action: 'client.remove_unused', ...(bucket !== undefined && { address: bucket }) }
  return change(administration, by, what, async () => {
    // The running service is notified that the quota has room again.
    await using opened = stores.shares === undefined ? openQuotas(stores, clock) : undefined
    const { openClients } = collections(opened === undefined ? stores : { ...stores, shares: opened.shares })
    const found = await listAll(
      async (after) => (await openClients.list(after, 100)).map(({ record }) => record),
      ({ client_id }) => client_id,
    )
    let removed = 0
    for (const { client_id } of found.filter(isMeant)) {
      const isGone = await openClients.update(client_id, (current) =>
        current !== undefined && isMeant(current) ? { result: true, write: null } : { result: false },
      )
      if (isGone) removed++
    }
    return { removed }
  })
}
