import type { BrowserNames } from '../browser-names.js'
import type { Translator } from '../languages/translator.js'
import type {
  AccountPage,
  ApplicationOnPage,
  ApprovalOnPage,
  DeviceOnPage,
  PasskeysOnPage,
  PasswordProblem,
  SectionOnPage,
  SessionOnPage,
} from './account-page.js'
import { accountNotices } from './account-notices.js'
import { accountSamples } from './account-sample.js'
import { showClient } from './client-on-page.js'
import { describeTotp } from './describe-totp.js'
import { describeDetails } from './describe-details.js'
import { definePage, showAccount } from './page.js'
import { tooManyText } from './wait-text.js'
import type { DescribePermissions } from './permissions.js'

/** What is needed to describe things in one language. */
interface Describing {
  readonly translator: Translator
  readonly describePermissions: DescribePermissions
}

/** Returns a time in the form that an element `time` needs. */
const timeOnPage = (translator: Translator, seconds: number) => ({
  text: translator.time(seconds),
  iso: new Date(seconds * 1000).toISOString(),
})

/** Formats a browser like `Firefox on Windows`. */
export const browserText = (translator: Translator, { browser, system }: BrowserNames): string => {
  if (browser === undefined && system === undefined) return translator.text('sessions.unknown_browser')
  if (system === undefined) return browser ?? ''
  return browser === undefined
    ? translator.text('sessions.some_browser', { system })
    : translator.text('sessions.browser', { browser, system })
}

const describeSession = ({ translator }: Describing, { seen, since, ...session }: SessionOnPage) => ({
  ...session,
  title: browserText(translator, seen),
  time: timeOnPage(translator, since),
})

const describeApplication = (
  { translator, describePermissions }: Describing,
  { client, scopes, claims, resources, details, moreDetails, since, ...application }: ApplicationOnPage,
) => ({
  ...application,
  client: showClient(client),
  wishes: describePermissions(scopes, claims, resources),
  details: describeDetails(translator, details),
  more: moreDetails > 0 ? translator.count('applications.more', moreDetails) : undefined,
  time: since === undefined ? undefined : timeOnPage(translator, since),
})

const describeApproval = (
  { translator, describePermissions }: Describing,
  { client, scopes, resources, details, moreDetails, since, expiresAt, ...approval }: ApprovalOnPage,
) => ({
  ...approval,
  client: showClient(client),
  wishes: describePermissions(scopes, [], resources),
  details: describeDetails(translator, details),
  more: moreDetails > 0 ? translator.count('applications.more', moreDetails) : undefined,
  time: timeOnPage(translator, since),
  until: timeOnPage(translator, expiresAt),
})

const describeDevice = ({ translator }: Describing, { id, name, type, since, renewedAt, revokedAt }: DeviceOnPage) => ({
  id,
  name,
  type: translator.text(`devices.${type}`),
  time: timeOnPage(translator, since),
  renewed: renewedAt === undefined ? undefined : timeOnPage(translator, renewedAt),
  revoked: revokedAt === undefined ? undefined : timeOnPage(translator, revokedAt),
})

/** Says how long others may accept what a device has been issued. */
const acceptedText = ({ translator }: Describing, seconds: number): string =>
  seconds >= 2 * 3600
    ? translator.count('devices.accepted_hours', Math.ceil(seconds / 3600))
    : translator.count('devices.accepted_minutes', Math.ceil(seconds / 60))

const passwordFields = [
  ['current_password', 'password.current', 'current-password'],
  ['new_password', 'password.new', 'new-password'],
  ['new_password_again', 'password.new_again', 'new-password'],
] as const

const describePasswordFields = (translator: Translator, isReset: boolean) =>
  passwordFields.slice(isReset ? 1 : 0).map(([name, label, autocomplete]) => ({
    name,
    id: name.replaceAll('_', '-'),
    label: translator.text(label),
    autocomplete,
  }))

interface PasswordProblemOnPage {
  readonly field?: string
  readonly text: string
  /** The English text, used when nothing else is known. */
  readonly english?: string
}

/** The text appears beside its field, or above the form when it concerns no field. */
const describePasswordProblem = (translator: Translator, problem: PasswordProblem): PasswordProblemOnPage => {
  switch (problem.kind) {
    case 'wrong':
      return { field: 'current_password', text: translator.text('password.wrong') }
    case 'locked':
      return { text: tooManyText(translator, problem.retryAfterSeconds) }
    case 'different':
      return { field: 'new_password_again', text: translator.text('password.different') }
    case 'unacceptable': {
      const { fault } = problem
      return typeof fault === 'string'
        ? {
            field: 'new_password',
            text: translator.text('password.unacceptable'),
            english: `The new password ${fault}.`,
          }
        : { field: 'new_password', text: translator.said(fault.said) }
    }
  }
}

const describePasskeys = (translator: Translator, { passkeys, setup, problem }: PasskeysOnPage) => ({
  rows: passkeys.map(({ since, lastUsedAt, ...passkey }) => ({
    ...passkey,
    time: timeOnPage(translator, since),
    used: lastUsedAt === undefined ? undefined : timeOnPage(translator, lastUsedAt),
  })),
  options: JSON.stringify(setup?.options),
  problem: problem && translator.text(`passkeys.${problem}`),
})

const rowsOf = (describing: Describing, section: SectionOnPage) => {
  const { translator } = describing
  switch (section.view) {
    case 'sessions':
      return section.sessions.map((one) => describeSession(describing, one))
    case 'applications':
      return section.applications.map((one) => describeApplication(describing, one))
    case 'approvals':
      return section.approvals.map((one) => describeApproval(describing, one))
    case 'devices':
      return section.devices.map((one) => describeDevice(describing, one))
    case 'totp':
      return describeTotp(translator, section, (seconds) => timeOnPage(translator, seconds))
    case 'passkeys':
      return describePasskeys(translator, section)
    case 'password':
      return {
        lead: translator.text(section.isReset ? 'password.reset_lead' : 'password.lead'),
        fields: describePasswordFields(translator, section.isReset === true),
        problem: section.problem && describePasswordProblem(translator, section.problem),
      }
  }
}

interface RemainingOnPage {
  /** The part of the page on which it can be ended. */
  readonly section: SectionOnPage['view']
  readonly name: string
  readonly time: ReturnType<typeof timeOnPage>
  readonly ago: string
}

/**
 * Describes what remains from the time before a new password: sessions that still sign the person in, and requests
 * that still wait for an answer.
 */
const describeRemaining = (translator: Translator, sections: readonly SectionOnPage[], now: number) => {
  const row = (section: SectionOnPage['view'], name: string, since: number): RemainingOnPage => ({
    ...{ section, name, time: timeOnPage(translator, since), ago: translator.ago(now - since) },
  })
  const signsIn = sections.flatMap((section) => {
    if (section.view === 'passkeys') return section.passkeys.map(({ name, since }) => row('passkeys', name, since))
    if (section.view !== 'totp' || section.app === undefined) return []
    return [row('totp', translator.text('totp.app'), section.app.since)]
  })
  const waits = sections.flatMap((section) =>
    section.view === 'approvals'
      ? section.approvals.map(({ client, since }) => row('approvals', client.name, since))
      : [],
  )
  const lists = [
    { id: 'remaining', text: translator.text('notice.still_signs_in'), rows: signsIn },
    { id: 'still-waiting', text: translator.text('notice.still_waiting'), rows: waits },
  ]
  return lists.filter(({ rows }) => rows.length > 0)
}

export const accountPage = definePage<AccountPage>({
  view: 'your-account',
  describe: ({ account, sections, notice, now = 0, recovery, ...page }, describing) => {
    const { translator } = describing
    return {
      ...page,
      title: translator.text(recovery ? 'recovery.title' : 'account.title'),
      recovery: recovery && timeOnPage(translator, recovery.expiresAt),
      notice: notice && { section: accountNotices[notice], text: translator.text(`notice.${notice}`) },
      remaining: notice === 'password_changed' ? describeRemaining(translator, sections, now) : [],
      sections: sections.map((section) => ({
        ...section,
        title: translator.text(`${section.view}.title`),
        rows: rowsOf(describing, section),
        ...(section.view === 'devices' && { accepted: acceptedText(describing, section.attestationTtlSeconds) }),
      })),
      ...showAccount(account),
    }
  },
  samples: accountSamples,
})
