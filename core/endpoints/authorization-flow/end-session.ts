import type { FoundSession, Sessions } from '../../interaction/session.js'
import type { EndSessionGrants } from '../../oauth/grants/session-grants.js'
import type { AuditLog } from '../../observe/audit.js'

export interface EndSessionOptions {
  readonly audit: AuditLog
  readonly endGrants: EndSessionGrants
}

/** Ends a session and everything granted in it. `clientId` is the client that asked for it. Throws `Unavailable`. */
export type EndSession = (requestId: string, ended: FoundSession, clientId?: string) => Promise<void>

export const createEndSession =
  ({ audit, endGrants }: EndSessionOptions, sessions: Pick<Sessions, 'end'>): EndSession =>
  async (request_id, ended, client_id) => {
    const { subject: sub, sid } = ended.session
    // The session is removed last, so that a person who meets an outage can try again.
    const revoked = await endGrants(sub, [ended.session])
    await sessions.end(ended)
    await audit.record({ event: 'session.ended', request_id, client_id, sub, sid, grants: revoked.get(sid) })
  }
