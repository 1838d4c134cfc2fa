import { epochSeconds, type Clock } from '../../clock.js'
import { hashOpaqueToken, isOpaqueToken } from '../../opaque-token.js'
import type { RecordStore } from '../../storage/ports.js'
import { Unavailable } from '../../unavailable.js'
import { isClientId, type Client, type ClientDirectory, type ClientRegistration } from '../clients/client.js'
import { isSameText } from '../same-text.js'

export interface RegisteredClientsOptions {
  /** The collection of clients that an initial access token vouched for. */
  readonly clients: RecordStore<Client>
  /** The same collection for openly registered clients, which count towards a separate quota. */
  readonly openClients: RecordStore<Client>
  readonly directory: Pick<ClientDirectory, 'forget'>
  readonly clock: Clock
  /** Seconds until a client that was never used is deleted. */
  readonly unusedSeconds: number
  /**
   * Takes a slot among the clients of its address that stay for `unusedSeconds`; undefined: the address has as many
   * as it may.
   */
  readonly reserveSlot: (address: string, registration: ClientRegistration) => Promise<ReservedSlot | undefined>
}

/** A slot that was taken and can be given back. */
export interface ReservedSlot {
  leave(): Promise<void>
}

/** Seconds for which an openly registered client stays that no request has named since. */
export const unseenSeconds = 3600

/** Clients in the store that registered themselves. All methods throw `Unavailable` unless they say otherwise. */
export interface RegisteredClients {
  /** Stores a new client until it is used or its time runs out. */
  add(client: Client): Promise<void>
  /** Returns the client whose registration the token is for, or the constant reason why there is none. */
  find(clientId: string, token: string): Promise<Client | string>
  /**
   * Changes the client that `find` returned, as one atomic step: `change` gets the record as it is at that moment.
   * Resolves with false when the registration has another token by now, or the client is gone.
   */
  replace(found: Client, change: (current: Client) => Client): Promise<boolean>
  /** Removes the client under the same conditions as `replace`; true: it is gone. */
  remove(found: Client): Promise<boolean>
  /**
   * Call it for each request that names a client. An openly registered client that no request has named before stays
   * from now on for the time of unused ones, as long as its address has a slot for it. Throws nothing.
   */
  noteSeen(client: Client): Promise<void>
  /**
   * Records that a client got a token, so it stays. `byPerson`: a person signed in to it, or could have. An openly
   * registered client that no person used keeps at least half of its time from then on, and stays in its quota.
   * Throws nothing: the next token records it again.
   */
  noteUse(client: Client, byPerson: boolean): Promise<void>
}

const isOpen = (client: Client): boolean => client.registration?.initial_access_token === undefined

const storeOf = ({ clients, openClients }: RegisteredClientsOptions, client: Client): RecordStore<Client> =>
  isOpen(client) ? openClients : clients

const isStill = (current: Client | undefined, found: Client): current is Client =>
  current?.registration !== undefined &&
  isSameText(current.registration.access_token_sha256, found.registration?.access_token_sha256 ?? '')

const expiryOf = ({ registration }: Client): number | undefined =>
  registration?.unused_until === undefined ? undefined : registration.unused_until * 1000

/** Settles like the change of a client, which the directory then has to read again. */
const forgetting = async <Result>(
  { directory }: RegisteredClientsOptions,
  clientId: string,
  change: Promise<Result>,
): Promise<Result> => {
  try {
    return await change
  } finally {
    directory.forget(clientId)
  }
}

const createNoteSeen = (options: RegisteredClientsOptions): RegisteredClients['noteSeen'] => {
  const { openClients, clock, unusedSeconds, reserveSlot } = options

  /** Resolves with false when another process was first, or the client is gone. */
  const keepSeen = (client: Client): Promise<boolean> =>
    openClients.update(client.client_id, (current) => {
      if (current?.registration === undefined) return { result: false }
      const { unseen, ...kept } = current.registration
      if (unseen === undefined) return { result: false }
      const until = epochSeconds(clock) + unusedSeconds
      const record: Client = { ...current, registration: { ...kept, unused_until: until } }
      return { result: true, write: { record, expiresAt: until * 1000 } }
    })

  return async (client) => {
    const { registration } = client
    if (registration?.unseen !== true) return
    const { address } = registration
    try {
      const place = address === undefined ? undefined : await reserveSlot(address, registration)
      // Without a slot the client keeps the hour that it had.
      if (address !== undefined && place === undefined) return
      if (!(await forgetting(options, client.client_id, keepSeen(client)))) await place?.leave()
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  }
}

const createNoteUse = (options: RegisteredClientsOptions): RegisteredClients['noteUse'] => {
  const { clock, unusedSeconds } = options

  /** Returns the record of a client that is in use, or undefined when nothing has to be written. */
  const usedBy = (current: Client, byPerson: boolean): Client | undefined => {
    const { registration, ...metadata } = current
    if (registration?.unused_until === undefined) return undefined
    const { unused_until: until, unseen, address, ...kept } = registration
    if (byPerson || !isOpen(current)) return { ...metadata, registration: kept }
    const now = epochSeconds(clock)
    if (unseen === undefined && until - now > unusedSeconds / 2) return undefined
    const still = { ...kept, ...(address !== undefined && { address }), unused_until: now + unusedSeconds }
    return { ...metadata, registration: still }
  }

  return async (client, byPerson) => {
    // This is mostly known without reading the store.
    if (usedBy(client, byPerson) === undefined) return
    const note = storeOf(options, client).update(client.client_id, (current) => {
      const used = current && usedBy(current, byPerson)
      return { result: undefined, ...(used && { write: { record: used, expiresAt: expiryOf(used) } }) }
    })
    try {
      await forgetting(options, client.client_id, note)
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  }
}

export const createRegisteredClients = (options: RegisteredClientsOptions): RegisteredClients => {
  const { clients, unusedSeconds } = options
  const noteSeen = createNoteSeen(options)

  return {
    async add(client) {
      const ttlSeconds = client.registration?.unseen === true ? unseenSeconds : unusedSeconds
      const added = await storeOf(options, client).put(client.client_id, client, { ttlSeconds, onlyIfAbsent: true })
      if (!added) throw new Error('A new client has the id of another one')
    },

    async find(clientId, token) {
      if (!isOpaqueToken(token) || !isClientId(clientId)) return 'malformed registration access token'
      const client = await clients.find(clientId)
      const { access_token_sha256: hash } = client?.registration ?? {}
      if (client === undefined || hash === undefined) return 'there is no such registration'
      if (!isSameText(hash, hashOpaqueToken(token))) return 'registration access token of another registration'
      if (client.disabled === true) return 'client is disabled'
      await noteSeen(client)
      return client
    },

    replace: (found, change) =>
      forgetting(
        options,
        found.client_id,
        storeOf(options, found).update(found.client_id, (current, expiresAt) =>
          isStill(current, found) ? { result: true, write: { record: change(current), expiresAt } } : { result: false },
        ),
      ),

    remove: (found) =>
      forgetting(
        options,
        found.client_id,
        storeOf(options, found).update(found.client_id, (current) =>
          isStill(current, found) ? { result: true, write: null } : { result: false },
        ),
      ),

    noteSeen,
    noteUse: createNoteUse(options),
  }
}

/** Wraps the directory for requests: `note` is called for clients that no request has named before. */
export const notingSeen = (directory: ClientDirectory, note: RegisteredClients['noteSeen']): ClientDirectory => {
  const seen = async (client: Client | undefined): Promise<Client | undefined> => {
    if (client?.registration?.unseen === true) await note(client)
    return client
  }
  return {
    find: async (id) => {
      const client = await directory.find(id)
      return typeof client === 'object' ? seen(client) : client
    },
    findEnabled: async (id) => seen(await directory.findEnabled(id)),
    forget: (id) => directory.forget(id),
  }
}
