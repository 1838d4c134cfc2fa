import type { Client } from '../oauth/client.js'
import type { RecordLookup } from '../storage/ports.js'

/** Every client of this deployment: those of the configuration, then those of the store. */
export interface ClientDirectory {
  /** Undefined when unknown or when the id cannot be one. Throws `Unavailable`. */
  find(clientId: string): Promise<Client | undefined>
}

const form = /^[\x20-\x7e]{1,512}$/

/** What the configuration names, the store cannot change. */
export const createClientDirectory = (
  fixed: readonly Client[],
  store: Pick<RecordLookup<Client>, 'find'>,
): ClientDirectory => {
  const byId = new Map(fixed.map((client) => [client.client_id, client]))
  return {
    async find(clientId) {
      if (!form.test(clientId)) return undefined
      return byId.get(clientId) ?? store.find(clientId)
    },
  }
}
