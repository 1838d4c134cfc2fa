import { definePage } from './page.js'
import { sample } from './sample.js'

/** A page that posts `parameters` to the client at once, by script or by its button (OAuth 2.0 Form Post Response Mode §2). */
export interface FormPostPage {
  /** The client whose theme the page uses. */
  readonly clientId?: string
  /** The redirect URI, in any scheme that the client registered. */
  readonly action: string
  /** `action` is a URL of this issuer, so the page does not say that the person returns to an application. */
  readonly isOurs?: true
  /** The parameters in order. Their values are untrusted: `state` is whatever the client sent. */
  readonly parameters: Readonly<Record<string, string>>
}

export const formPostPage = definePage<FormPostPage>({
  view: 'form-post',
  describe: (page, { translator }) => ({
    title: translator.text('form_post.title'),
    lead: translator.text(page.isOurs ? 'form_post.again' : 'form_post.lead'),
    action: page.action,
    clientId: page.clientId,
    parameters: Object.entries(page.parameters),
  }),
  samples: {
    '': { action: 'https://client.example/cb', parameters: { code: 'c', state: sample.name } },
    'own page': { action: '/form', parameters: { state: sample.name }, isOurs: true },
  },
})
