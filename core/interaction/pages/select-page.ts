import { showClient, type ClientOnPage } from './client-on-page.js'
import { definePage, initialOf, type ClientFormPage } from './page.js'
import { sample } from './sample.js'

/** Somebody who is signed in in this browser, on the page where one of them is chosen. */
export interface ChoiceOnPage {
  /** What the buttons of this person send. */
  readonly id: string
  readonly name: string
  /** Tells people of the same name apart. */
  readonly secondName?: string | undefined
  /** The client has this person in mind. */
  readonly isHinted: boolean
}

/** Fields `csrf`, and one of `account` and `sign_out` with the id of a person; or `decision`: `cancel`. */
export interface SelectPage extends ClientFormPage {
  /** Absent where no client waits. */
  readonly client?: ClientOnPage
  readonly accounts: readonly ChoiceOnPage[]
  /** Where somebody else signs in. */
  readonly otherUrl: string
  /** The account that was chosen is signed in no more. */
  readonly problem?: 'gone'
  readonly cancel?: boolean
}

export const selectPage = definePage<SelectPage>({
  view: 'select',
  describe: (page, { translator }) => ({
    title: translator.text('select.title'),
    action: page.action,
    csrf: page.csrf,
    sealedClient: page.sealedClient,
    client: page.client && showClient(page.client),
    clientId: page.client?.clientId,
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
