import type { AccountPage } from './account-page.js'
import { accountNotices, accountTexts, browserText, timeText } from './account-texts.js'

type Section = AccountPage['sections'][number]

/** As an element `time` has it. */
const timeOnPage = (seconds: number) => ({
  text: timeText(seconds),
  iso: new Date(seconds * 1000).toISOString(),
})

const describeSection = (section: Section) => ({
  ...section,
  rows: section.sessions.map(({ seen, since, ...session }) => ({
    ...session,
    title: browserText(seen),
    time: timeOnPage(since),
  })),
})

/** What the view `your-account` is given: everything in words. */
export const describeAccount = ({ sections, notice, ...page }: Omit<AccountPage, 'account'>) => ({
  ...page,
  title: accountTexts.title,
  t: accountTexts,
  notice: notice && accountNotices[notice],
  sections: sections.map(describeSection),
})
