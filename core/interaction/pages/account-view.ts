import type { AccountPage, ApplicationOnPage, DeviceOnPage, SectionOnPage, SessionOnPage } from './account-page.js'
import { accountNotices, accountTexts, browserText, timeText } from './account-texts.js'
import { showClient } from './client-on-page.js'
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

const rowsOf = (section: SectionOnPage, describeWishes: DescribeWishes) => {
  switch (section.view) {
    case 'sessions':
      return section.sessions.map(describeSession)
    case 'applications':
      return section.applications.map((one) => describeApplication(one, describeWishes))
    case 'devices':
      return section.devices.map(describeDevice)
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
