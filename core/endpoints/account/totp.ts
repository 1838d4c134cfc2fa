import type { FactorSetup, TotpEnrolment } from '../../interaction/factors/factor-enrolment.js'
import type { PersonFactor } from '../../interaction/factors/person-factor.js'
import type { PersonFactors } from '../../interaction/factors/person-factors.js'
import { newRecoveryCodes } from '../../interaction/factors/recovery-codes.js'
import type { TotpOnPage } from '../../interaction/pages/account-page.js'
import { displayName } from '../../oauth/subjects/account.js'
import { OAuthError } from '../../oauth/errors.js'
import type { AuditLog } from '../../observe/audit.js'
import type { Refusals } from '../refusals.js'
import { auditContextOf, type AccountSection, type Action, type AccountContext } from './section.js'

export interface TotpSectionOptions {
  readonly enrolment: TotpEnrolment
  readonly factors: PersonFactors
  readonly audit: AuditLog
  readonly refusals: Refusals
}

/** The app for one-time passwords, and the recovery codes that replace it. Changes require a recent sign-in. */
export const createTotpSection = ({ enrolment, factors, audit, refusals }: TotpSectionOptions): AccountSection => {
  /** Bound to this session, so that no other page's secret can be set up in it. */
  const setupOf = ({ person }: AccountContext, all: readonly PersonFactor[]): FactorSetup => {
    const { subject, sid, username } = person.session
    return { subject, accountName: username ?? displayName(person.account), challenge: sid, factors: all }
  }

  const show = async (
    context: AccountContext,
    more: Pick<TotpOnPage, 'problem' | 'codes'> = {},
    refused?: Readonly<Record<string, string>>,
  ): Promise<TotpOnPage> => {
    const all = await factors.list(context.person.session.subject)
    const app = all.find((factor) => factor.kind === 'totp')
    const left = all.find((factor) => factor.kind === 'recovery_codes')?.hashes.length ?? 0
    if (app === undefined) {
      return { view: 'totp', setup: await enrolment.begin(setupOf(context, all), refused), ...more }
    }
    const { createdAt: since, lastUsedAt } = app
    return { view: 'totp', app: { since, left, ...(lastUsedAt !== undefined && { lastUsedAt }) }, ...more }
  }

  /** Shows ten new codes, once. */
  const showNewCodes = async (context: AccountContext) => {
    const codes = newRecoveryCodes()
    await factors.putRecoveryCodes(context.person.session.subject, codes)
    const named = { kind: 'recovery_codes', factor: 'recovery_codes' }
    await audit.record({ event: 'account.factor_added', ...auditContextOf(context), ...named })
    return { status: 200, section: await show(context, { codes }) }
  }

  const add: Action = async (context) => {
    const { subject } = context.person.session
    const { values } = context.http.form
    const all = await factors.list(subject)
    // When the page is reloaded or its form sent again, the app in use stays.
    if (all.some(({ kind }) => kind === 'totp')) return { notice: 'totp_there' }
    const answer = { setup: values.get('setup') ?? '', code: values.get('code') ?? '' }
    const result = await enrolment.finish(setupOf(context, all), answer)
    if (result.outcome !== 'made') {
      await refusals.record(context.http, { event: 'account.refused', why: result.why, sub: subject })
      return { status: 400, section: await show(context, { problem: 'wrong' }, answer) }
    }
    await factors.putTotp(subject, result.factor)
    await audit.record({ event: 'account.factor_added', ...auditContextOf(context), kind: 'totp', factor: 'totp' })
    return showNewCodes(context)
  }

  const renew: Action = async (context) => {
    if ((await factors.findTotp(context.person.session.subject)) === undefined)
      throw new OAuthError('invalid_request', 'Recovery codes stand in for an app, and there is none.')
    return showNewCodes(context)
  }

  const remove: Action = async (context) => {
    const { subject } = context.person.session
    // The codes are removed first, because they are useless without the app.
    for (const id of ['recovery_codes', 'totp'] as const) {
      if ((await factors.remove(subject, id)) === undefined) continue
      await audit.record({ event: 'account.factor_removed', ...auditContextOf(context), kind: id, factor: id })
    }
    return { notice: 'totp_removed' }
  }

  return {
    name: 'totp',
    asksAgain: true,
    inRecovery: true,
    show: async (context) => ({ section: await show(context) }),
    actions: new Map([
      ['add', { afterRecentSignIn: add }],
      ['renew', { afterRecentSignIn: renew }],
      ['remove', { afterRecentSignIn: remove }],
    ]),
  }
}
