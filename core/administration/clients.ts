import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../config/schema.js'
import { addressBucket } from '../address-bucket.js'
import { collections } from '../collections/collections.js'
import { openQuotas } from '../collections/quotas.js'
import { parseClientMetadata } from '../oauth/clients/client-metadata.js'
import type { ClientUse } from '../oauth/clients/client-uses.js'
import { isClientId, type Client } from '../oauth/clients/client.js'
import type { RecordStore } from '../storage/ports.js'
import { differenceOf } from './difference.js'
import { etagOf } from './etag.js'
import type { JsonObject } from '../json.js'
import { neededApprovals, requireApproval } from './require-approval.js'
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

const masked = (client: Client): Client => ({
  ...client,
  ...(client.client_secret_sha256 !== undefined && { client_secret_sha256: '[secret]' }),
  ...(client.previous_client_secret_sha256 !== undefined && { previous_client_secret_sha256: '[secret]' }),
  ...(client.registration && { registration: { ...client.registration, access_token_sha256: '[secret]' } }),
})

const listed = (source: ClientSource, client: Client): ListedClient => ({ source, ...masked(client) })

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

/** Returns the last use of each of these clients that got tokens in the last 400 days. Throws `Unavailable`. */
export const usesOf = async (
  { stores }: Pick<Deployment, 'stores'>,
  clientIds: readonly string[],
): Promise<ReadonlyMap<string, ClientUse>> => {
  const { clientUses } = collections(stores)
  const found = await Promise.all(clientIds.map(async (id) => [id, await clientUses.find(id)] as const))
  return new Map(found.flatMap(([id, use]) => (use === undefined ? [] : [[id, use]])))
}

/** Lists the clients of the configuration. */
export const listConfiguredClients = ({ config }: Pick<Deployment, 'config'>): readonly ListedClient[] =>
  configuredClients(config).map((client) => listed('configuration', client))

/** Finds a client of the store as operators see it. Throws `Unavailable`. */
export const findListedClient = async (
  { config, stores }: Deployment,
  clientId: string,
): Promise<ListedClient | undefined> => {
  if (isConfigured(config, clientId)) return undefined
  const client = await findStoredClient(collections(stores).clients, clientId)
  return client && listed(sourceOf(client), client)
}

/** Shows one client. Throws `Unavailable`. */
export const showClient = async (deployment: Deployment, clientId: string): Promise<ListedClient | undefined> => {
  const client = await findClient(deployment, clientId)
  if (client === undefined) return undefined
  return listed(isConfigured(deployment.config, clientId) ? 'configuration' : sourceOf(client), client)
}

/** Shows one client with its version, for a change on condition that it is still that version. Throws `Unavailable`. */
export const readClient = async (
  deployment: Deployment,
  clientId: string,
): Promise<{ readonly client: ListedClient; readonly etag: string } | undefined> => {
  const client = await findClient(deployment, clientId)
  if (client === undefined) return undefined
  const source = isConfigured(deployment.config, clientId) ? 'configuration' : sourceOf(client)
  return { client: listed(source, client), etag: etagOf(client) }
}

/**
 * Lists at most `limit` clients after this id, in the order of ids: those of the store, and those of the
 * configuration among them. Throws `Unavailable`.
 */
export const listClientsAfter = async (
  { config, stores }: Deployment,
  after: string | undefined,
  limit: number,
): Promise<readonly ListedClient[]> => {
  const configured = configuredClients(config).map((client) => listed('configuration', client))
  const stored = await collections(stores).clients.list(after, limit)
  return [...configured, ...stored.map(({ record }) => listed(sourceOf(record), record))]
    .filter(({ client_id }) => after === undefined || client_id > after)
    .toSorted((one, other) => (one.client_id < other.client_id ? -1 : 1))
    .slice(0, limit)
}

export type ClientRefusal = Refusal<'unknown' | 'configured' | 'changed_meanwhile'>

/** A client to change. With `ifMatch` it must still be that version (`etagOf`), or else it was `changed_meanwhile`. */
export interface ChangedClient {
  readonly client_id: string
  readonly ifMatch?: string | undefined
}

const isOther = (client: Client, { ifMatch }: ChangedClient): boolean =>
  ifMatch !== undefined && etagOf(client) !== ifMatch

/** `secrets` returns what was generated for the change, to be shown once. */
type ClientChange = ChangedClient & { readonly action: string; readonly secrets?: () => JsonObject | undefined }

/**
 * Changes a client of the store in one step and returns it as it is now. `changed_meanwhile`: another change was made
 * since it was read, by its own registration for example. Throws `Unavailable`, and what `alter` throws.
 */
export const changeClient = async <Other extends Refusal = never>(
  administration: Administration,
  by: Operator,
  { action: verb, secrets, ...which }: ClientChange,
  alter: (before: Client) => Promise<Client | Other>,
): Promise<{ readonly client: Client } | ClientRefusal | Other> => {
  const { client_id } = which
  const action = `client.${verb}`
  if (isConfigured(administration.config, client_id)) return { refused: 'configured' }
  const { clients } = collections(administration.stores)
  if (neededApprovals(administration, action) > 0) {
    const before = await findStoredClient(clients, client_id)
    if (before === undefined) return { refused: 'unknown' }
    if (isOther(before, which)) return { refused: 'changed_meanwhile' }
    const client = await alter(before)
    if ('refused' in client) return client
    const to = { client: client as unknown as JsonObject }
    const planned = { action, object: `client:${client_id}`, from: etagOf(before), to, secrets: secrets?.() }
    await requireApproval(administration, by, planned)
  }
  return change(administration, by, { action, client_id }, async (note) => {
    const before = await findStoredClient(clients, client_id)
    if (before === undefined) return { refused: 'unknown' }
    if (isOther(before, which)) return { refused: 'changed_meanwhile' }
    const after = await alter(before)
    if ('refused' in after) return after
    const isChanged = await clients.update(client_id, (current, expiresAt) =>
      isDeepStrictEqual(current, before) ? { result: true, write: { record: after, expiresAt } } : { result: false },
    )
    if (!isChanged) return { refused: 'changed_meanwhile' }
    note(differenceOf(masked(before), masked(after)))
    return { client: after }
  })
}

/** Disables a client, so that all of its requests are refused, or enables it again. */
export const setClientDisabled = (
  administration: Administration,
  by: Operator,
  { disabled, ...which }: ChangedClient & { readonly disabled: boolean },
): Promise<{ readonly client: Client } | ClientRefusal> =>
  changeClient<never>(administration, by, { action: disabled ? 'disable' : 'enable', ...which }, (before) =>
    Promise.resolve({ ...before, disabled }),
  )

/** Removes a client from the store. Throws `Unavailable`. */
export const removeClient = async (
  administration: Administration,
  by: Operator,
  which: ChangedClient,
): Promise<{ readonly client_id: string } | ClientRefusal> => {
  const { client_id } = which
  const { clients } = collections(administration.stores)
  if (neededApprovals(administration, 'client.remove') > 0) {
    const found = await findStoredClient(clients, client_id)
    if (found === undefined)
      return { refused: isConfigured(administration.config, client_id) ? 'configured' : 'unknown' }
    if (isOther(found, which)) return { refused: 'changed_meanwhile' }
    const planned = { action: 'client.remove', object: `client:${client_id}`, from: etagOf(found), to: { client_id } }
    await requireApproval(administration, by, planned)
  }
  return change(administration, by, { action: 'client.remove', client_id }, async () => {
    const removed = isClientId(client_id)
      ? await clients.update<'removed' | ClientRefusal['refused']>(client_id, (current) => {
          if (current === undefined) return { result: 'unknown' }
          return isOther(current, which) ? { result: 'changed_meanwhile' } : { result: 'removed', write: null }
        })
      : 'unknown'
    if (removed === 'removed') return { client_id }
    return { refused: isConfigured(administration.config, client_id) ? 'configured' : removed }
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
  await requireApproval(administration, by, {
    ...{ action: what.action, object: 'client:unused', from: null },
    to: { ...(bucket !== undefined && { address: bucket }) },
  })
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
