import type { BrowserNames } from '../browser-names.js'
import type { Words } from '../languages/words.js'
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
import type { DescribeWishes } from './wishes.js'

/** In one language. */
interface Describing {
  readonly words: Words
  readonly describeWishes: DescribeWishes
}

/** As an element `time` has it. */
const timeOnPage = (words: Words, seconds: number) => ({
  text: words.time(seconds),
  iso: new Date(seconds * 1000).toISOString(),
})

/** `Firefox on Windows`. */
export const browserText = (words: Words, { browser, system }: BrowserNames): string => {
  if (browser === undefined && system === undefined) return words.text('sessions.unknown_browser')
  if (system === undefined) return browser ?? ''
  return browser === undefined
    ? words.text('sessions.some_browser', { system })
    : words.text('sessions.browser', { browser, system })
}

const describeSession = ({ words }: Describing, { seen, since, ...session }: SessionOnPage) => ({
  ...session,
  title: browserText(words, seen),
  time: timeOnPage(words, since),
})

const describeApplication = (
  { words, describeWishes }: Describing,
  { client, scopes, claims, resources, details, moreDetails, since, ...application }: ApplicationOnPage,
) => ({
  ...application,
  client: showClient(client),
  wishes: describeWishes(scopes, claims, resources),
  details: describeDetails(words, details),
  more: moreDetails > 0 ? words.count('applications.more', moreDetails) : undefined,
  time: since === undefined ? undefined : timeOnPage(words, since),
})

const describeApproval = (
  { words, describeWishes }: Describing,
  { client, scopes, resources, details, moreDetails, since, expiresAt, ...approval }: ApprovalOnPage,
) => ({
  ...approval,
  client: showClient(client),
  wishes: describeWishes(scopes, [], resources),
  details: describeDetails(words, details),
  more: moreDetails > 0 ? words.count('applications.more', moreDetails) : undefined,
  time: timeOnPage(words, since),
  until: timeOnPage(words, expiresAt),
})

const describeDevice = ({ words }: Describing, { id, name, type, since, renewedAt, revokedAt }: DeviceOnPage) => ({
  id,
  name,
  type: words.text(`devices.${type}`),
  time: timeOnPage(words, since),
  renewed: renewedAt === undefined ? undefined : timeOnPage(words, renewedAt),
  revoked: revokedAt === undefined ? undefined : timeOnPage(words, revokedAt),
})

/** How long others may accept what a device has got. */
const acceptedText = ({ words }: Describing, seconds: number): string =>
  seconds >= 2 * 3600
    ? words.count('devices.accepted_hours', Math.ceil(seconds / 3600))
    : words.count('devices.accepted_minutes', Math.ceil(seconds / 60))

const passwordFields = [
  ['current_password', 'password.current', 'current-password'],
  ['new_password', 'password.new', 'new-password'],
  ['new_password_again', 'password.new_again', 'new-password'],
] as const

const describePasswordFields = (words: Words, isReset: boolean) =>
  passwordFields.slice(isReset ? 1 : 0).map(([name, label, autocomplete]) => ({
    name,
    id: name.replaceAll('_', '-'),
    label: words.text(label),
    autocomplete,
  }))

interface PasswordProblemOnPage {
  readonly field?: string
  readonly text: string
  /** In English, where nothing else is known. */
  readonly english?: string
}

/** Beside its field, or over the form where it is of none. */
const describePasswordProblem = (words: Words, problem: PasswordProblem): PasswordProblemOnPage => {
  switch (problem.kind) {
    case 'wrong':
      return { field: 'current_password', text: words.text('password.wrong') }
    case 'locked':
      return { text: tooManyText(words, problem.retryAfterSeconds) }
    case 'different':
      return { field: 'new_password_again', text: words.text('password.different') }
    case 'unacceptable': {
      const { fault } = problem
      return typeof fault === 'string'
        ? { field: 'new_password', text: words.text('password.unacceptable'), english: `The new password ${fault}.` }
        : { field: 'new_password', text: words.said(fault.said) }
    }
  }
}

const describePasskeys = (words: Words, { passkeys, setup, problem }: PasskeysOnPage) => ({
  rows: passkeys.map(({ since, lastUsedAt, ...passkey }) => ({
    ...passkey,
    time: timeOnPage(words, since),
    used: lastUsedAt === undefined ? undefined : timeOnPage(words, lastUsedAt),
  })),
  options: JSON.stringify(setup?.options),
  problem: problem && words.text(`passkeys.${problem}`),
})

const rowsOf = (describing: Describing, section: SectionOnPage) => {
  const { words } = describing
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
      return describeTotp(words, section, (seconds) => timeOnPage(words, seconds))
    case 'passkeys':
      return describePasskeys(words, section)
    case 'password':
      return {
        lead: words.text(section.isReset ? 'password.reset_lead' : 'password.lead'),
        fields: describePasswordFields(words, section.isReset === true),
        problem: section.problem && describePasswordProblem(words, section.problem),
      }
  }
}

interface RemainingOnPage {
  /** The part of the page where it can be ended. */
  readonly section: SectionOnPage['view']
  readonly name: string
  readonly time: ReturnType<typeof timeOnPage>
  readonly ago: string
}

/** What is left of the time before a new password: what still signs the person in, or still waits for an answer. */
const describeRemaining = (words: Words, sections: readonly SectionOnPage[], now: number) => {
  const row = (section: SectionOnPage['view'], name: string, since: number): RemainingOnPage => ({
    ...{ section, name, time: timeOnPage(words, since), ago: words.ago(now - since) },
  })
  const signsIn = sections.flatMap((section) => {
    if (section.view === 'passkeys') return section.passkeys.map(({ name, since }) => row('passkeys', name, since))
    if (section.view !== 'totp' || section.app === undefined) return []
    return [row('totp', words.text('totp.app'), section.app.since)]
  })
  const waits = sections.flatMap((section) =>
    section.view === 'approvals'
      ? section.approvals.map(({ client, since }) => row('approvals', client.name, since))
      : [],
  )
  const lists = [
    { id: 'remaining', text: words.text('notice.still_signs_in'), rows: signsIn },
    { id: 'still-waiting', text: words.text('notice.still_waiting'), rows: waits },
  ]
  return lists.filter(({ rows }) => rows.length > 0)
}

export const accountPage = definePage<AccountPage>({
  view: 'your-account',
  describe: ({ account, sections, notice, now = 0, recovery, ...page }, describing) => {
    const { words } = describing
    return {
      ...page,
      title: words.text(recovery ? 'recovery.title' : 'account.title'),
      recovery: recovery && timeOnPage(words, recovery.expiresAt),
      notice: notice && { section: accountNotices[notice], text: words.text(`notice.${notice}`) },
      remaining: notice === 'password_changed' ? describeRemaining(words, sections, now) : [],
      sections: sections.map((section) => ({
        ...section,
        title: words.text(`${section.view}.title`),
        rows: rowsOf(describing, section),
        ...(section.view === 'devices' && { accepted: acceptedText(describing, section.attestationTtlSeconds) }),
      })),
      ...showAccount(account),
    }
  },
  samples: accountSamples,
})
