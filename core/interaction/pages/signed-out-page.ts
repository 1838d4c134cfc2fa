import { showClient, webAddress, type ClientOnPage } from './client-on-page.js'
import { definePage, type FormPage } from './page.js'
import { sample } from './sample.js'

export interface SignedOutPage {
  /** The client that sent the person. */
  readonly client?: ClientOnPage
  /** Where the client begins a sign-in. */
  readonly backUrl?: string
  /** Where a client that registered itself wants the browser: in any scheme that it registered. */
  readonly returnUrl?: string
  /** Who is still signed in in this browser. Field `csrf`; button `#logout-all`. */
  readonly others?: FormPage & { readonly names: readonly string[] }
}

export const signedOutPage = definePage<SignedOutPage>({
  view: 'signed-out',
  describe: (page, { translator, accountUrl }) => ({
    title: translator.text('signed_out.title'),
    client: page.client && showClient(page.client),
    clientId: page.client?.clientId,
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
