import { definePage, initialOf, showClientOf, showForm, type ClientFormPage } from './page.js'
import { sample } from './sample.js'

/** A person who is signed in in this browser, on the page where one account is chosen. */
export interface ChoiceOnPage {
  /** The value that the buttons of this person send. */
  readonly id: string
  readonly name: string
  /** Distinguishes people with the same name. */
  readonly secondName?: string | undefined
  /** The client suggested this person. */
  readonly isHinted: boolean
}

/** The form sends `csrf`, and either `account` or `sign_out` with the id of a person, or `decision`: `cancel`. */
export interface SelectPage extends ClientFormPage {
  readonly accounts: readonly ChoiceOnPage[]
  /** The URL where another person signs in. */
  readonly otherUrl: string
  /** The chosen account is no longer signed in. */
  readonly problem?: 'gone'
  readonly cancel?: boolean
}

export const selectPage = definePage<SelectPage>({
  view: 'select',
  describe: (page, { translator }) => ({
    title: translator.text('select.title'),
    ...showForm(page),
    ...showClientOf(page),
    accounts: page.accounts.map((account) => ({ ...account, initial: initialOf(account.name) })),
    otherUrl: page.otherUrl,
    problem: page.problem && translator.text('select.gone'),
    cancel: page.cancel === true,
  }),
  samples: {
    '': {
      ...sample.ofClient,
      accounts: ['a', 'b'].map((id) => ({ id, name: sample.name, secondName: sample.name, isHinted: false })),
      otherUrl: '/other',
      problem: 'gone',
      cancel: true,
    },
  },
})
