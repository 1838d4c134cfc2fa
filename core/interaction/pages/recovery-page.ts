import { definePage, showAccount, type AccountOnPage, type FormPage } from './page.js'
import { sample } from './sample.js'

/**
 * The page that a recovery link opens. The form sends `csrf` and `link`; the button `#recovery-continue` uses up the
 * link.
 */
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
