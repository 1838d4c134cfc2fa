import type { Asset } from '../interaction/pages/load-assets.js'
import type { Theme } from '../interaction/pages/theme.js'
import type { Messages } from '../interaction/languages/built-in.js'
import { createChooseLanguage } from '../interaction/languages/choose-language.js'
import { createPages } from '../interaction/pages/create-pages.js'
import { definePage } from '../interaction/pages/page.js'
import type { Declaration } from './endpoint.js'
import { page, type Handler, type Reply } from './message.js'

export interface HomeOptions {
  readonly issuer: string
  readonly assetsPath: string
  readonly assets: ReadonlyMap<string, Asset>
  readonly theme: Theme
  readonly messages: Messages
}

export interface HomePage {
  readonly issuer: string
}

export const homePage = definePage<HomePage>({
  view: 'home',
  describe: ({ issuer }, { translator }) => ({ title: translator.text('home.title'), issuer }),
  samples: { '': { issuer: 'https://sample.example' } },
})

/**
 * `GET /`: says whose provider this is, but not which software it runs. The demo has its own page here (`core/demo`).
 */
export const homeEndpoint = {
  path: '/',
  methods: ['GET'],
  body: 'none',
  errorTitle: 'error',
  pages: [homePage],
  limit: { byAddress: 'documents', byRefusals: false },
} as const satisfies Declaration

export const createHomeEndpoint = (options: HomeOptions): Handler => {
  const { issuer, messages } = options
  const pages = createPages({ ...options, name: new URL(issuer).host })
  const choose = createChooseLanguage(messages.languages)
  const replies = new Map(
    messages.languages.map((language) => {
      const html = pages.for({ uiLocales: language }).show(homePage, { issuer })
      return [language, page(200, html, language)]
    }),
  )
  return (http) => {
    const uiLocales = http.query.values.get('ui_locales')
    return replies.get(choose({ uiLocales, acceptLanguage: http.header('accept-language') })) as Reply
  }
}
