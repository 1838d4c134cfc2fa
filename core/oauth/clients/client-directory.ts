import type { Clock } from '../../clock.js'
import { isClientId, type Client, type ClientDirectory, type SecurityProfile } from './client.js'
import { isFapi } from './security-profile.js'
import { noLog, type Log } from '../../observe/log.js'
import { RecentMap } from '../../recent-map.js'
import type { RecordLookup } from '../../storage/ports.js'

type ClientLookup = Pick<RecordLookup<Client>, 'find'> & Partial<Pick<ClientDirectory, 'forget'>>

/** A changed client may be used in its old state, or count as unknown, for this many seconds. */
export const cachedSeconds = 5

/**
 * The limit holds for existing clients and for unknown ids separately, so lookups of unknown ids evict no existing
 * client.
 */
export const maxClients = 10_000

interface Entry {
  readonly until: number
  readonly client: Promise<Client | undefined>
}

/**
 * Caches the clients of a store behind a network: each client is read once in `cachedSeconds`, however many requests
 * it sends. The time runs from before the store is asked, also for a client that it does not have. A lookup that
 * failed is repeated by the next request.
 */
export const cacheClients = (store: ClientLookup, clock: Clock): Required<ClientLookup> => {
  const known = new RecentMap<string, Entry>(maxClients)
  const unknown = new RecentMap<string, Entry>(maxClients)
  const asking = new Map<string, Entry>()

  let forgotten = 0

  const ask = async (id: string, until: number): Promise<Client | undefined> => {
    const before = forgotten
    try {
      const client = await store.find(id)
      // A read that started before a client changed may return its old state.
      if (forgotten !== before) return client
      const [kept, other] = client === undefined ? [unknown, known] : [known, unknown]
      other.delete(id)
      kept.set(id, { until, client: Promise.resolve(client) })
      return client
    } finally {
      asking.delete(id)
    }
  }

  return {
    forget: (id) => {
      forgotten++
      for (const entries of [known, unknown, asking]) entries.delete(id)
    },
    find: (id) => {
      const now = clock()
      for (const entries of [known, unknown, asking]) {
        const entry = entries.get(id)
        // Setting the clock back must not extend a lifetime.
        if (entry === undefined || now >= entry.until || entry.until - now > cachedSeconds * 1000) continue
        return entry.client
      }
      const until = now + cachedSeconds * 1000
      const client = ask(id, until)
      asking.set(id, { until, client })
      return client
    },
  }
}

export interface DirectoryOptions {
  /** The profile of the deployment. With `fapi2`, clients that do not have this profile are left out. */
  readonly profile?: SecurityProfile
  /**
   * False: clients with pairwise subjects are left out, because there is no key to derive the subjects from. Default:
   * true.
   */
  readonly hasPairwiseKey?: boolean
  /** Each client that is left out is logged once. */
  readonly log?: Log
}

/** Clients of the configuration come first, so the store cannot change them. */
export const createClientDirectory = (
  fixed: readonly Client[],
  store: ClientLookup,
  { profile = 'oauth2', hasPairwiseKey = true, log = noLog }: DirectoryOptions = {},
): ClientDirectory => {
  const warned = new RecentMap<string, 'warned'>(maxClients)
  const byId = new Map(fixed.map((client) => [client.client_id, client]))
  const findAny = (clientId: string) =>
    isClientId(clientId) ? (byId.get(clientId) ?? store.find(clientId)) : undefined
  /** A client that was stored before the deployment got its profile may have what the profile forbids. */
  const findUnfitness = (client: Client): string | undefined => {
    if (profile === 'fapi2' && !isFapi(client)) return 'A client without security_profile fapi2 is refused'
    if (!hasPairwiseKey && client.subject_type === 'pairwise')
      return 'A client with subject_type pairwise is refused: the configuration has no pairwise_key'
    return undefined
  }
  const isUnfit = (client: Client): boolean => {
    const why = findUnfitness(client)
    if (why === undefined) return false
    const { client_id } = client
    if (warned.get(client_id) === undefined) log.warn(why, { client_id })
    warned.set(client_id, 'warned')
    return true
  }
  const isOut = (client: Client): boolean => client.disabled === true || isUnfit(client)
  return {
    async find(clientId) {
      const client = await findAny(clientId)
      return client && isOut(client) ? 'disabled' : client
    },
    async findEnabled(clientId) {
      const client = await findAny(clientId)
      return client && isOut(client) ? undefined : client
    },
    forget: (clientId) => store.forget?.(clientId),
  }
}
