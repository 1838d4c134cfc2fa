import type { Asset } from '../interaction/pages/load-assets.js'
import type { Theme } from '../interaction/pages/theme.js'
import type { Messages } from '../interaction/languages/built-in.js'
import { createChooseLanguage } from '../interaction/languages/choose-language.js'
import { createTranslator } from '../interaction/languages/translator.js'
import { compileTemplates } from '../interaction/pages/templates.js'
import type { Declaration } from './endpoint.js'
import { page, type Handler, type Reply } from './message.js'

export interface HomeOptions {
  readonly issuer: string
  readonly assetsPath: string
  readonly assets: ReadonlyMap<string, Asset>
  readonly theme: Theme
  readonly messages: Messages
}

/**
 * `GET /`: says whose provider this is, but not which software it runs. The demo has its own page here (`core/demo`).
 */
export const homeEndpoint = {
  path: '/',
  methods: ['GET'],
  body: 'none',
  errorTitle: 'error',
  limit: { byAddress: 'documents', byRefusals: false },
} as const satisfies Declaration

export const createHomeEndpoint = (options: HomeOptions): Handler => {
  const { issuer, theme, assetsPath, assets, messages } = options
  const renderIn = compileTemplates({ theme, name: new URL(issuer).host, assetsPath, assets })
  const choose = createChooseLanguage(messages.languages)
  const replies = new Map(
    messages.languages.map((language) => {
      const words = createTranslator(language, messages.texts.get(language) ?? new Map())
      return [language, page(200, renderIn(words)('home', { title: words.text('home.title'), issuer }), language)]
    }),
  )
  return (http) => {
    const uiLocales = http.query.values.get('ui_locales')
    return replies.get(choose({ uiLocales, acceptLanguage: http.header('accept-language') })) as Reply
  }
}
