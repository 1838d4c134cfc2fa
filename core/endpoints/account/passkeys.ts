import type { FactorSetup, PasskeyEnrolment } from '../../interaction/factors/factor-enrolment.js'
import { factorId, maxPasskeys, type PersonFactors } from '../../interaction/factors/person-factors.js'
import type { PasskeyOnPage, PasskeysOnPage } from '../../interaction/pages/account-page.js'
import { displayName } from '../../oauth/subjects/account.js'
import type { AuditLog } from '../../observe/audit.js'
import { readBrowserNames } from '../../interaction/browser-names.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import { toPlainText } from '../../plain-text.js'
import type { Refusals } from '../refusals.js'
import { auditContextOf, type AccountSection, type Action, type AccountContext } from './section.js'

export interface PasskeysSectionOptions {
  readonly enrolment: PasskeyEnrolment
  readonly factors: PersonFactors
  /** Single-use challenges of ours. */
  readonly challenges: { issue(): Promise<string>; redeem(value: string): Promise<boolean> }
  readonly audit: AuditLog
  readonly refusals: Refusals
}

const maxNameCharacters = 60

/** Passkeys, with which people sign in without a password. Adding, naming or removing one requires a recent sign-in. */
export const createPasskeysSection = (options: PasskeysSectionOptions): AccountSection => {
  const { enrolment, factors, challenges, audit, refusals } = options

  /** The challenge is bound to this session, so no other can answer it. */
  const setupOf = async ({ http, person }: AccountContext, challenge: string): Promise<FactorSetup> => {
    const { subject, sid, username } = person.session
    const { browser, system } = readBrowserNames(http.header('user-agent'))
    const names = [browser, system].filter((name) => name !== undefined)
    return {
      subject,
      ...(names.length > 0 && { browser: names.join(', ') }),
      accountName: username ?? displayName(person.account),
      challenge: hashOpaqueToken(`passkey\n${sid}\n${challenge}`),
      factors: await factors.list(subject),
    }
  }

  const show = async (context: AccountContext, problem?: PasskeysOnPage['problem']): Promise<PasskeysOnPage> => {
    const challenge = await challenges.issue()
    const setup = await setupOf(context, challenge)
    const passkeys = setup.factors.flatMap((factor): PasskeyOnPage[] => {
      if (factor.kind !== 'passkey') return []
      const { name, createdAt: since, lastUsedAt, backedUp: isSynced } = factor
      return [{ id: factorId(factor), name, since, isSynced, ...(lastUsedAt !== undefined && { lastUsedAt }) }]
    })
    return {
      view: 'passkeys',
      passkeys,
      ...(passkeys.length < maxPasskeys && { setup: { options: await enrolment.begin(setup), challenge } }),
      ...(problem && { problem }),
    }
  }

  const passkeyContextOf = (context: AccountContext) => ({ ...auditContextOf(context), kind: 'passkey' })

  const add: Action = async (context) => {
    const { values } = context.http.form
    const { subject } = context.person.session
    const challenge = values.get('challenge') ?? ''
    const answer = { answer: values.get('answer') ?? '', name: values.get('name') ?? '' }
    const result = (await challenges.redeem(challenge))
      ? await enrolment.finish(await setupOf(context, challenge), answer)
      : ({ outcome: 'refused', why: 'the challenge was used, or is too old' } as const)
    if (result.outcome !== 'made') {
      await refusals.record(context.http, { event: 'account.refused', why: result.why, sub: subject })
      return { status: 400, section: await show(context, 'refused') }
    }
    const added = await factors.addPasskey(subject, result.factor)
    if (added !== 'added') return { status: 400, section: await show(context, added === 'known' ? 'known' : undefined) }
    await audit.record({ event: 'account.factor_added', ...passkeyContextOf(context), factor: factorId(result.factor) })
    return { notice: 'passkey_added' }
  }

  const rename: Action = async ({ http, person }) => {
    const typed = toPlainText(http.form.values.get('name') ?? '')
    const name = [...typed].slice(0, maxNameCharacters).join('').trim()
    const id = http.form.values.get('factor') ?? ''
    const done = name !== '' && (await factors.renamePasskey(person.session.subject, id, name))
    return { notice: done ? 'passkey_renamed' : 'passkey_gone' }
  }

  const remove: Action = async (context) => {
    const removed = await factors.remove(context.person.session.subject, context.http.form.values.get('factor') ?? '')
    if (removed === undefined) return { notice: 'passkey_gone' }
    await audit.record({ event: 'account.factor_removed', ...passkeyContextOf(context), factor: factorId(removed) })
    return { notice: 'passkey_removed' }
  }

  return {
    name: 'passkeys',
    asksAgain: true,
    inRecovery: true,
    show: async (context) => ({ section: await show(context) }),
    actions: new Map([
      ['add', { afterRecentSignIn: add }],
      ['rename', { afterRecentSignIn: rename }],
      ['remove', { afterRecentSignIn: remove }],
    ]),
  }
}
