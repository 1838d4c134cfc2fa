import type { GrantEntry } from '../grant-index.js'
import type { LogoutNotice, LogoutOutbox } from './outbox.js'

export interface TellClientsOptions {
  readonly outbox: Pick<LogoutOutbox, 'add'>
  /** `backchannel_logout_uri` of a client; undefined: it has none, or is no client any more. Throws `Unavailable`. */
  readonly findLogoutUri: (clientId: string) => Promise<string | undefined>
}

/**
 * Leaves word for the clients that got something in these sessions that they are over (OIDC Back-Channel Logout §2.5): one
 * notice for each session of each client. Called before what it tells of is written, so that no end goes untold. Throws
 * `Unavailable`.
 */
export type TellClients = (granted: readonly Pick<GrantEntry, 'clientId' | 'subject' | 'sid'>[]) => Promise<void>

export const createTellClients =
  ({ outbox, findLogoutUri }: TellClientsOptions): TellClients =>
  async (granted) => {
    const uris = new Map<string, Promise<string | undefined>>()
    const uriOf = (clientId: string): Promise<string | undefined> => {
      const uri = uris.get(clientId) ?? findLogoutUri(clientId)
      uris.set(clientId, uri)
      return uri
    }
    const notices = new Map<string, LogoutNotice>()
    for (const { clientId, subject, sid } of granted) {
      const uri = sid === undefined ? undefined : await uriOf(clientId)
      if (sid === undefined || uri === undefined) continue
      notices.set(`${sid}\n${clientId}`, { clientId, subject, sid, host: new URL(uri).host })
    }
    await outbox.add([...notices.values()])
  }
