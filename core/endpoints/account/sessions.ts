import type { SessionEntry } from '../../interaction/session.js'
import type { SessionOnPage } from '../../interaction/pages/account-page.js'
import type { PersonalRecords } from '../../interaction/personal-records.js'
import type { AuditLog } from '../../observe/audit.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import type { Flow } from '../authorization-flow/flow.js'
import { maxRows, type AccountSection, type Action, type AccountContext } from './section.js'

export interface SessionsSectionOptions {
  readonly records: Pick<PersonalRecords, 'listSessions' | 'pageSessions' | 'endSessions'>
  readonly audit: AuditLog
  readonly cookies: Flow['cookies']
}

/**
 * Where a person is signed in. This section only ends sessions, so that a person who sees an unknown one can act at
 * once.
 */
export const createSessionsSection = ({ records, audit, cookies }: SessionsSectionOptions): AccountSection => {
  const keyOf = ({ http }: AccountContext): string => hashOpaqueToken(http.cookie(cookies.session) ?? '')

  const end = async (
    { http, person: { session } }: AccountContext,
    entries: readonly SessionEntry[],
  ): Promise<void> => {
    const { subject: sub, sid: by_sid } = session
    const ended = await records.endSessions(sub, entries, by_sid)
    const auditContext = { request_id: http.requestId, sub, by_sid }
    await audit.record(
      ...entries.map(({ sid }) => ({
        event: 'session.ended' as const,
        ...auditContext,
        sid,
        grants: ended.get(sid) ?? 0,
      })),
    )
  }

  const listOthers = async (context: AccountContext, sid?: string): Promise<readonly SessionEntry[]> => {
    const own = keyOf(context)
    return (await records.listSessions(context.person.session.subject, sid)).filter(({ key }) => key !== own)
  }

  const endOne: Action = async (context) => {
    const sid = context.http.form.values.get('sid')
    const found = sid === undefined ? [] : await listOthers(context, sid)
    if (found.length === 0) return { notice: 'session_gone' }
    await end(context, found)
    return { notice: 'session_ended' }
  }

  const endOthers: Action = async (context) => {
    const others = await listOthers(context)
    if (others.length > 0) await end(context, others)
    return { notice: 'others_ended' }
  }

  const onPage = ({
    sid,
    seen = {},
    authTime: since,
  }: Pick<SessionEntry, 'sid' | 'seen' | 'authTime'>): SessionOnPage => ({
    ...{ sid, seen, since, here: false },
  })

  return {
    name: 'sessions',
    async show(context, after) {
      const { session } = context.person
      const { found, next } = await records.pageSessions(session.subject, after, maxRows)
      const own = keyOf(context)
      const others = found.filter(({ key }) => key !== own).toSorted((one, other) => other.authTime - one.authTime)
      const here = after === undefined ? [{ ...onPage(session), here: true }] : []
      return { section: { view: 'sessions', sessions: [...here, ...others.map(onPage)] }, next }
    },
    actions: new Map([
      ['end', endOne],
      ['end_others', endOthers],
    ]),
  }
}
