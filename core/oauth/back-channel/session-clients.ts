import { hashOpaqueToken } from '../../opaque-token.js'
import type { RecordStore } from '../../storage/ports.js'
import type { Client } from '../clients/client.js'
import type { Grant } from '../grants/grant.js'
import { isOffline } from '../requests/scope.js'
import { subjectRecordId } from '../subjects/subject-records.js'

/** A client that was granted something in a session, to be notified when the session ends. */
export interface SessionClient {
  readonly subject: string
  readonly sid: string
  readonly clientId: string
}

/**
 * Clients with a `backchannel_logout_uri`, by person. Entries last as long as a session, whereas tokens may live for
 * minutes.
 */
export interface SessionClients {
  /** Nothing for other clients, and for what was granted without a session. Throws `Unavailable`. */
  add(client: Client, grant: Grant): Promise<void>
}

export interface SessionClientsOptions {
  readonly store: RecordStore<SessionClient>
  /** Seconds after which nothing of a session is left, without `offline_access` and with it. */
  readonly lifetime: { readonly online: number; readonly offline: number }
}

/** One for each client in a session, however often it is granted something. */
export const sessionClientId = ({ subject, sid, clientId }: SessionClient): string =>
  subjectRecordId(subject, hashOpaqueToken(`${sid} ${clientId}`))

export const createSessionClients = ({ store, lifetime }: SessionClientsOptions): SessionClients => ({
  async add(client, grant) {
    const {
      clientId,
      subject,
      authentication: { sid },
    } = grant
    if (client.backchannel_logout_uri === undefined || sid === undefined) return
    const entry = { subject, sid, clientId }
    const ttlSeconds = isOffline(grant) ? lifetime.offline : lifetime.online
    await store.put(sessionClientId(entry), entry, { ttlSeconds })
  },
})
