import { definePage, showAccount, type AccountOnPage, type FormPage } from './page.js'
import { sample } from './sample.js'

/** What a recovery link leads to. Fields `csrf` and `link`; button `#recovery-continue` uses the link up. */
export interface RecoveryPage extends FormPage {
  readonly account: AccountOnPage
  readonly link: string
}

export const recoveryPage = definePage<RecoveryPage>({
  view: 'recovery',
  describe: (page, { translator }) => ({
    title: translator.text('recovery.title'),
    action: page.action,
    csrf: page.csrf,
    link: page.link,
    ...showAccount(page.account),
  }),
  samples: { '': { ...sample.form, account: { name: sample.name }, link: 'link-of-the-sample' } },
})
