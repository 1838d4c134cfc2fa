import type { ClientOnPage } from './client-on-page.js'
import { definePage, showClientOf } from './page.js'
import { sample } from './sample.js'

/**
 * Asks before the browser continues to a client that registered itself and at which nobody has acted yet. The link or
 * button is `#leaving-continue`.
 */
export interface LeavingPage {
  readonly client: ClientOnPage
  /** The URL that the link leads to, or that `parameters` are posted to, in any scheme that the client registered. */
  readonly url: string
  readonly parameters?: Readonly<Record<string, string>>
}

export const leavingPage = definePage<LeavingPage>({
  view: 'leaving',
  describe: (page, { translator }) => ({
    title: translator.text('leaving.title'),
    ...showClientOf(page),
    url: page.url,
    parameters: page.parameters && Object.entries(page.parameters),
  }),
  samples: {
    '': {
      client: { ...sample.client, isUnchecked: true, returnsTo: sample.name },
      url: 'https://client.example/cb',
      parameters: { [sample.name]: sample.name },
    },
  },
})
