import type { Clock } from '../../clock.js'
import type { PasswordChange } from '../../interaction/password-change.js'
import type { PasswordProblem } from '../../interaction/pages/account-page.js'
import { OAuthError } from '../../oauth/errors.js'
import { findAuthTime, type EndSubject } from '../../oauth/subject-end.js'
import type { AuditLog } from '../../observe/audit.js'
import type { RevocationStore } from '../../storage/ports.js'
import type { Flow } from '../authorization-flow/flow.js'
import { findLoginOrigin } from '../authorization-flow/login-origin.js'
import type { Refusals } from '../refusals.js'
import type { AccountSection, Action, Outcome, Visit } from './section.js'

export interface PasswordSectionOptions {
  readonly changePassword: PasswordChange
  readonly endSubject: EndSubject
  readonly revocations: RevocationStore
  readonly audit: AuditLog
  readonly refusals: Refusals
  readonly clock: Clock
}

/** The password of the person. What sign-ins with the one before have opened ends with it; this browser goes on. */
export const createPasswordSection = (options: PasswordSectionOptions, flow: Flow): AccountSection => {
  const { changePassword, endSubject, revocations, audit, refusals, clock } = options

  const onPage = ({ account, session: { username } }: Visit['person'], problem?: PasswordProblem) => ({
    view: 'password' as const,
    isFixed: account.passwordFixed === true,
    ...(username !== undefined && { username }),
    ...(problem && { problem }),
  })

  const again = ({ person }: Visit, status: number, problem: PasswordProblem): Outcome => ({
    status,
    section: onPage(person, problem),
    ...('retryAfterSeconds' in problem && { retryAfterSeconds: problem.retryAfterSeconds }),
  })

  /** Another session of the same person in this browser, with nothing of the one before but how the person signed in. */
  const restartSession = async ({ http, person }: Visit) => {
    const { subject, amr, acr, interactionId, username, seen } = person.session
    await flow.sessions.end(person)
    // It begins after the end, and be it in the same millisecond.
    const authTime = await findAuthTime(revocations, subject, clock() + 1)
    if (authTime === undefined) return undefined
    const login = { outcome: 'passed' as const, subject, amr, ...(acr !== undefined && { acr }) }
    const at = { authTime, interactionId, ...(username !== undefined && { username }), ...(seen && { seen }) }
    return flow.sessions.start(login, at, flow.sessionsOf(http))
  }

  const change: Action = async (visit) => {
    const { http, person } = visit
    const { subject: sub, sid: by_sid, username = '' } = person.session
    if (person.account.passwordFixed) throw new OAuthError('invalid_request', 'This password cannot be changed here.')
    const field = (name: string): string => http.form.values.get(name) ?? ''
    const [current, next] = [field('current_password'), field('new_password')]
    if (next !== field('new_password_again')) return again(visit, 400, { kind: 'different' })
    const from = await findLoginOrigin(http, flow, username)
    const decision = await changePassword({ subject: sub, current, next }, from, http.signal)
    if (decision.outcome === 'refused' || decision.outcome === 'locked')
      await refusals.record(http, { event: 'account.refused', why: decision.outcome, guessed: sub })
    switch (decision.outcome) {
      case 'refused':
        return again(visit, 403, { kind: 'wrong' })
      case 'locked':
        return again(visit, 429, { kind: 'locked', retryAfterSeconds: decision.retryAfterSeconds })
      case 'unacceptable':
        return again(visit, 400, { kind: 'unacceptable', fault: decision.fault })
      case 'allowed': {
        // Before and after: an outage leaves nobody in whom a new password was to put out, and the old password opens nothing
        // between the two that stays.
        await endSubject(sub)
        if (!(await decision.apply())) throw changedMeanwhile()
        await endSubject(sub)
        const started = await restartSession(visit)
        const trail = { request_id: http.requestId, sub, by_sid, sid: started?.session.sid }
        await audit.record({ event: 'account.password_changed', ...trail })
        return { notice: 'password_changed', cookies: started?.cookies ?? [] }
      }
    }
  }

  return {
    name: 'password',
    asksAgain: true,
    show: async ({ person }) => ({ section: onPage(person) }),
    actions: new Map([['change', { afterRecentSignIn: change }]]),
  }
}

const changedMeanwhile = (): OAuthError =>
  new OAuthError('access_denied', 'The account changed meanwhile. Go back and reload the page.', {
    status: 403,
    reason: 'the account changed meanwhile',
  })
