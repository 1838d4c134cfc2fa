import { epochSeconds, type Clock } from '../../clock.js'
import { hashOpaqueToken, isOpaqueToken } from '../../opaque-token.js'
import type { RecordStore } from '../../storage/ports.js'
import { Unavailable } from '../../unavailable.js'
import { isClientId, type Client, type ClientDirectory } from '../client.js'
import { isSameText } from '../same-text.js'

export interface RegisteredClientsOptions {
  /** Of those whom an initial access token vouched for. */
  readonly clients: RecordStore<Client>
  /** The same collection, for those that anybody may have registered: they count in a share of their own. */
  readonly openClients: RecordStore<Client>
  readonly directory: Pick<ClientDirectory, 'forget'>
  readonly clock: Clock
  /** Seconds until a client that was never used is forgotten. */
  readonly unusedSeconds: number
}

/** Clients that registered themselves, in the store. Everything throws `Unavailable`. */
export interface RegisteredClients {
  /** Stores a new client, until it has been used or its time is over. */
  add(client: Client): Promise<void>
  /** The client whose registration the token is for, or in constant words why there is none. */
  find(clientId: string, token: string): Promise<Client | string>
  /**
   * Changes the client that `found` returned, as one atomic step: `change` is given the record as it stands. False when the token
   * of the registration is another one by now, or the client is gone.
   */
  replace(found: Client, change: (current: Client) => Client): Promise<boolean>
  /** As `replace`: the client is gone when it resolves with true. */
  remove(found: Client): Promise<boolean>
  /**
   * Takes a client for used that got a token: it stays. `byPerson`: somebody signed in to it, or could have. One that nobody
   * vouched for and no person used has half its time at least from then on, and stays in its share. Throws nothing: the next
   * token tells it again.
   */
  noteUse(client: Client, byPerson: boolean): Promise<void>
}

const isOpen = (client: Client): boolean => client.registration?.initial_access_token === undefined

export const createRegisteredClients = (options: RegisteredClientsOptions): RegisteredClients => {
  const { clients, openClients, directory, clock, unusedSeconds } = options
  const storeOf = (client: Client): RecordStore<Client> => (isOpen(client) ? openClients : clients)

  const isStill = (current: Client | undefined, found: Client): current is Client =>
    current?.registration !== undefined &&
    isSameText(current.registration.access_token_sha256, found.registration?.access_token_sha256 ?? '')

  const forgetting = async <Result>(clientId: string, change: Promise<Result>): Promise<Result> => {
    try {
      return await change
    } finally {
      directory.forget(clientId)
    }
  }

  /** The record of a client that is in use, or undefined where nothing has to be written. */
  const usedBy = (current: Client, byPerson: boolean): Client | undefined => {
    const { registration, ...metadata } = current
    if (registration?.unused_until === undefined) return undefined
    const { unused_until: until, ...kept } = registration
    if (byPerson || !isOpen(current)) return { ...metadata, registration: kept }
    const now = epochSeconds(clock)
    if (until - now > unusedSeconds / 2) return undefined
    return { ...metadata, registration: { ...registration, unused_until: now + unusedSeconds } }
  }

  const expiryOf = ({ registration }: Client): number | undefined =>
    registration?.unused_until === undefined ? undefined : registration.unused_until * 1000

  return {
    async add(client) {
      const options = { ttlSeconds: unusedSeconds, onlyIfAbsent: true }
      const added = await storeOf(client).put(client.client_id, client, options)
      if (!added) throw new Error('A new client has the id of another one')
    },

    async find(clientId, token) {
      if (!isOpaqueToken(token) || !isClientId(clientId)) return 'malformed registration access token'
      const client = await clients.find(clientId)
      const { access_token_sha256: hash } = client?.registration ?? {}
      if (client === undefined || hash === undefined) return 'there is no such registration'
      if (!isSameText(hash, hashOpaqueToken(token))) return 'registration access token of another registration'
      return client.disabled === true ? 'client is disabled' : client
    },

    replace: (found, change) =>
      forgetting(
        found.client_id,
        storeOf(found).update(found.client_id, (current, expiresAt) =>
          isStill(current, found) ? { result: true, write: { record: change(current), expiresAt } } : { result: false },
        ),
      ),

    remove: (found) =>
      forgetting(
        found.client_id,
        storeOf(found).update(found.client_id, (current) =>
          isStill(current, found) ? { result: true, write: null } : { result: false },
        ),
      ),

    async noteUse(client, byPerson) {
      // Mostly known without asking the store.
      if (usedBy(client, byPerson) === undefined) return
      const note = storeOf(client).update(client.client_id, (current) => {
        const used = current && usedBy(current, byPerson)
        return { result: undefined, ...(used && { write: { record: used, expiresAt: expiryOf(used) } }) }
      })
      try {
        await forgetting(client.client_id, note)
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error
      }
    },
  }
}
