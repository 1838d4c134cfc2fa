import { webAddress, type ClientOnPage } from './client-on-page.js'
import { definePage, showClientOf, type FormPage } from './page.js'
import { sample } from './sample.js'

export interface SignedOutPage {
  /** The client that sent the person. */
  readonly client?: ClientOnPage
  /** The URL where a sign-in at the client begins. */
  readonly backUrl?: string
  /** The URL that a self-registered client wants the browser to return to, in any scheme that it registered. */
  readonly returnUrl?: string
  /** People who are still signed in in this browser. The form sends `csrf`; its button is `#logout-all`. */
  readonly others?: FormPage & { readonly names: readonly string[] }
}

export const signedOutPage = definePage<SignedOutPage>({
  view: 'signed-out',
  describe: (page, { translator, accountUrl }) => ({
    title: translator.text('signed_out.title'),
    ...showClientOf(page),
    backUrl: page.returnUrl ?? webAddress(page.backUrl),
    isReturning: page.returnUrl !== undefined,
    others: page.others,
    accountUrl,
  }),
  samples: {
    '': {
      client: sample.client,
      backUrl: 'https://client.example/',
      others: { ...sample.form, names: [sample.name] },
    },
  },
})
