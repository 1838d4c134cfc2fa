import type { ClientOnPage } from './client-on-page.js'
import { definePage, showAccount, showClientOf, showForm, type AccountOnPage, type FormPage } from './page.js'
import { sample } from './sample.js'

/**
 * Asks a person whether to sign out. The form sends `csrf` and repeats `parameters`. Its buttons are
 * `#logout-confirm`, and `#logout-all`, which sends `accounts`: `all`.
 */
export interface LogoutPage extends FormPage {
  readonly client?: ClientOnPage
  readonly account: AccountOnPage
  /** Names of other people who are signed in in this browser. */
  readonly others: readonly string[]
  /** The parameters of the request. They are untrusted. */
  readonly parameters: Readonly<Record<string, string>>
}

export const logoutPage = definePage<LogoutPage>({
  view: 'logout',
  describe: (page, { translator }) => ({
    title: translator.text('logout.title'),
    ...showForm(page),
    ...showClientOf(page),
    ...showAccount(page.account),
    others: page.others,
    parameters: Object.entries(page.parameters),
  }),
  samples: {
    '': {
      ...sample.form,
      client: sample.client,
      account: sample.account,
      others: [sample.name],
      parameters: { state: sample.name },
    },
  },
})
