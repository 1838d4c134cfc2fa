import type { RecordStore } from '../../storage/ports.js'
import { listSubjectRecords } from '../subjects/subject-records.js'
import type { LogoutNotice, LogoutOutbox } from './outbox.js'
import { sessionClientId, type SessionClient } from './session-clients.js'

export interface NotifyClientsOptions {
  readonly sessionClients: RecordStore<SessionClient>
  readonly outbox: Pick<LogoutOutbox, 'add'>
  /** `backchannel_logout_uri` of a client; undefined: it has none, or is no client any more. Throws `Unavailable`. */
  readonly findLogoutUri: (clientId: string) => Promise<string | undefined>
}

/** Limits the notices to what was granted in these sessions, or to this client. */
export interface NotificationFilter {
  readonly sids?: readonly string[]
  readonly clientId?: string
}

/**
 * Leaves notices for clients that got something in sessions of a person that ended (OIDC Back-Channel Logout §2.5),
 * one per session and client. Called before the end is written, so that no end goes unreported. Throws `Unavailable`.
 */
export type NotifyClients = (subject: string, only?: NotificationFilter) => Promise<void>

export const createNotifyClients =
  ({ sessionClients, outbox, findLogoutUri }: NotifyClientsOptions): NotifyClients =>
  async (subject, { sids, clientId } = {}) => {
    const all = await listSubjectRecords(sessionClients, subject)
    const over = all.filter(
      (one) => sids?.includes(one.sid) !== false && (clientId === undefined || clientId === one.clientId),
    )
    const noticeOf = async (about: SessionClient): Promise<readonly LogoutNotice[]> => {
      const uri = await findLogoutUri(about.clientId)
      return uri === undefined ? [] : [{ ...about, host: new URL(uri).host }]
    }
    const notices = await Promise.all(over.map(noticeOf))
    await outbox.add(notices.flat())
    await Promise.all(over.map((about) => sessionClients.remove(sessionClientId(about))))
  }
