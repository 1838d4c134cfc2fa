import type { Clock } from '../../clock.js'
import type { PasswordChange, PasswordReset } from '../../interaction/password-change.js'
import type { PasswordProblem } from '../../interaction/pages/account-page.js'
import type { RecoverySessions } from '../../interaction/recovery/recovery-sessions.js'
import { OAuthError } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import { findAuthTime, type EndSubject } from '../../oauth/subjects/subject-end.js'
import type { AuditLog } from '../../observe/audit.js'
import type { RevocationStore } from '../../storage/ports.js'
import type { Flow } from '../authorization-flow/flow.js'
import { findLoginOrigin } from '../authorization-flow/login-origin.js'
import type { Refusals } from '../refusals.js'
import { yesOrNo } from '../../yes-or-no.js'
import { auditContextOf, type AccountSection, type Action, type Outcome, type AccountContext } from './section.js'

export interface PasswordSectionOptions {
  readonly changePassword: PasswordChange
  /** If absent, no password can be set through a recovery link. */
  readonly resetPassword: PasswordReset | undefined
  readonly recoveries: Pick<RecoverySessions, 'renew'>
  readonly endSubject: EndSubject
  readonly revocations: RevocationStore
  readonly audit: AuditLog
  readonly refusals: Refusals
  readonly clock: Clock
}

/** The person's password. Sessions opened with the old one end with it; this browser stays signed in. */
export const createPasswordSection = (options: PasswordSectionOptions, flow: Flow): AccountSection => {
  const { changePassword, resetPassword, recoveries, endSubject, revocations, audit, refusals, clock } = options

  const onPage = ({ person, recovery }: AccountContext, problem?: PasswordProblem) => ({
    view: 'password' as const,
    isFixed: person.account.passwordFixed === true,
    ...(recovery && { isReset: true as const }),
    ...(person.session.username !== undefined && { username: person.session.username }),
    ...(problem && { problem }),
  })

  const again = (context: AccountContext, status: number, problem: PasswordProblem): Outcome => ({
    status,
    section: onPage(context, problem),
    ...('retryAfterSeconds' in problem && { retryAfterSeconds: problem.retryAfterSeconds }),
  })

  /** Starts another session of the same person in this browser, which takes over only how the person signed in. */
  const restartSession = async ({ http, person, recovery }: AccountContext) => {
    if (recovery !== undefined) return { sid: recovery.recovery.sid, cookies: [] }
    const { subject, amr, acr, interactionId, username, seen } = person.session
    await flow.sessions.end(person)
    // It must start after the end of the others, even within the same millisecond.
    const authTime = await findAuthTime(revocations, subject, clock() + 1)
    if (authTime === undefined) return undefined
    const login = { outcome: 'passed' as const, subject, amr, ...(acr !== undefined && { acr }) }
    const at = { authTime, interactionId, ...(username !== undefined && { username }), ...(seen && { seen }) }
    const { session, cookies } = await flow.sessions.start(login, at, flow.sessionsOf(http))
    return { sid: session.sid, cookies }
  }

  /** A recovery continues even if this fails half way, because its link was used. */
  const endAll = async ({ person, recovery }: AccountContext): Promise<void> => {
    try {
      await endSubject(person.session.subject)
    } finally {
      if (recovery !== undefined) await recoveries.renew(recovery)
    }
  }

  const decide = async ({ http, person: { session }, recovery }: AccountContext, current: string, next: string) => {
    const { subject, username = '' } = session
    if (recovery !== undefined)
      return (await resetPassword?.({ subject, next }, http.signal)) ?? { outcome: 'refused' as const }
    const from = await findLoginOrigin(http, flow, username)
    return changePassword({ subject, current, next }, from, http.signal)
  }

  const change: Action = async (context) => {
    const { http, person } = context
    const { subject: sub } = person.session
    if (person.account.passwordFixed === true) throw new OAuthError('invalid_request', said('password_fixed'))
    const field = (name: string): string => http.form.values.get(name) ?? ''
    const [current, next] = [field('current_password'), field('new_password')]
    if (next !== field('new_password_again')) return again(context, 400, { kind: 'different' })
    const decision = await decide(context, current, next)
    if (decision.outcome === 'refused' && context.recovery !== undefined) throw changedMeanwhile()
    if (decision.outcome === 'refused' || decision.outcome === 'locked')
      await refusals.record(http, { event: 'account.refused', why: decision.outcome, guessed: sub })
    switch (decision.outcome) {
      case 'refused':
        return again(context, 403, { kind: 'wrong' })
      case 'locked':
        return again(context, 429, { kind: 'locked', retryAfterSeconds: decision.retryAfterSeconds })
      case 'unacceptable':
        return again(context, 400, { kind: 'unacceptable', fault: decision.fault })
      case 'allowed': {
        // Called before and after: an outage then leaves nobody signed in whom the new password was to sign out, and
        // sessions opened in between with the old password end too.
        await endAll(context)
        if (!yesOrNo('`apply` of a change of the password', await decision.apply())) throw changedMeanwhile()
        await endAll(context)
        const started = await restartSession(context)
        await audit.record({ event: 'account.password_changed', ...auditContextOf(context), sid: started?.sid })
        return { notice: 'password_changed', cookies: started?.cookies ?? [] }
      }
    }
  }

  return {
    name: 'password',
    asksAgain: true,
    ...(resetPassword && { inRecovery: true as const }),
    show: async (context) => ({ section: onPage(context) }),
    actions: new Map([['change', { afterRecentSignIn: change }]]),
  }
}

const changedMeanwhile = (): OAuthError =>
  new OAuthError('access_denied', said('account_changed'), {
    status: 403,
    reason: 'the account changed meanwhile',
  })
