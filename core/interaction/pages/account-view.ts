import type {
  AccountPage,
  ApplicationOnPage,
  DeviceOnPage,
  PasswordProblem,
  SectionOnPage,
  SessionOnPage,
} from './account-page.js'
import { accountNotices, accountTexts, browserText, timeText } from './account-texts.js'
import { showClient } from './client-on-page.js'
import { tooManyText } from './wait-text.js'
import { textOf, type createDescribeWishes } from './wishes.js'

type DescribeWishes = ReturnType<typeof createDescribeWishes>

/** As an element `time` has it. */
const timeOnPage = (seconds: number) => ({
  text: timeText(seconds),
  iso: new Date(seconds * 1000).toISOString(),
})

const describeSession = ({ seen, since, ...session }: SessionOnPage) => ({
  ...session,
  title: browserText(seen),
  time: timeOnPage(since),
})

const describeApplication = (
  { client, scopes, claims, resources, details, since, ...application }: ApplicationOnPage,
  describeWishes: DescribeWishes,
) => ({
  ...application,
  client: showClient(client),
  wishes: describeWishes(scopes, claims, resources),
  details: details.map(({ title, lines }) => ({
    title: textOf(title),
    lines: lines.map(({ label, text }) => ({ label: textOf(label), text })),
  })),
  time: since === undefined ? undefined : timeOnPage(since),
})

const describeDevice = ({ id, name, type, since, renewedAt, revokedAt }: DeviceOnPage) => ({
  id,
  name,
  type: accountTexts.devices.types[type],
  time: timeOnPage(since),
  renewed: renewedAt === undefined ? undefined : timeOnPage(renewedAt),
  revoked: revokedAt === undefined ? undefined : timeOnPage(revokedAt),
})

const passwordFields = (
  [
    ['current_password', 'current-password'],
    ['new_password', 'new-password'],
    ['new_password_again', 'new-password'],
  ] as const
).map(([name, autocomplete]) => ({
  name,
  id: name.replaceAll('_', '-'),
  label: accountTexts.password.fields[name],
  autocomplete,
}))

/** Beside its field, or over the form where it is of none. */
const describePasswordProblem = (problem: PasswordProblem): { readonly field?: string; readonly text: string } => {
  const { wrong, different, unacceptable } = accountTexts.password
  switch (problem.kind) {
    case 'wrong':
      return { field: 'current_password', text: wrong }
    case 'locked':
      return { text: tooManyText(problem.retryAfterSeconds) }
    case 'different':
      return { field: 'new_password_again', text: different }
    case 'unacceptable':
      return { field: 'new_password', text: unacceptable(problem.fault) }
  }
}

const rowsOf = (section: SectionOnPage, describeWishes: DescribeWishes) => {
  switch (section.view) {
    case 'sessions':
      return section.sessions.map(describeSession)
    case 'applications':
      return section.applications.map((one) => describeApplication(one, describeWishes))
    case 'devices':
      return section.devices.map(describeDevice)
    case 'password':
      return { fields: passwordFields, problem: section.problem && describePasswordProblem(section.problem) }
  }
}

/** What the view `your-account` is given: everything in words. */
export const describeAccount = (
  { sections, notice, ...page }: Omit<AccountPage, 'account'>,
  describeWishes: DescribeWishes,
) => ({
  ...page,
  title: accountTexts.title,
  t: accountTexts,
  notice: notice && accountNotices[notice],
  sections: sections.map((section) => ({ ...section, rows: rowsOf(section, describeWishes) })),
})
