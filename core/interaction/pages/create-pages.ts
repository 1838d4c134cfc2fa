import { builtIn, type Messages } from '../languages/built-in.js'
import { createChooseLanguage } from '../languages/choose-language.js'
import { createTranslator, type Translator } from '../languages/translator.js'
import type { Asset } from './load-assets.js'
import { plainTheme, type Theme } from './theme.js'
import type { PageContext } from './page.js'
import type { Pages, SpokenPages } from './pages.js'
import { compileTemplates, type Render } from './templates.js'
import { createDescribePermissions, type ScopeTexts } from './permissions.js'

export interface PagesOptions {
  /** The default is Signet's own theme. */
  readonly theme?: Theme
  /** The heading of each page when the theme has neither a logo nor a name. */
  readonly name?: string
  /** Path of the assets, without a trailing slash: `/assets`, `/op/assets`. */
  readonly assetsPath: string
  readonly assets: ReadonlyMap<string, Asset>
  /** The URL of the person's own page. Absent when there is none. */
  readonly accountUrl?: string
  /** Scopes for which the operator has written texts. */
  readonly scopes?: readonly ScopeTexts[]
  /** When absent, the messages that come with the product are used. */
  readonly messages?: Messages
}

/** Creates the pages from `views/` and the templates of the theme. Text that comes from clients and people is always data, never markup. */
export const createPages = (options: PagesOptions): Pages => {
  const { theme = plainTheme, name = 'Signet', assetsPath, assets, messages = builtIn } = options
  const renderIn = compileTemplates({ theme, name, assetsPath, assets })
  const choose = createChooseLanguage(messages.languages)
  const spoken = new Map(
    messages.languages.map((language) => {
      const translator = createTranslator(language, messages.texts.get(language) ?? new Map())
      return [language, createSpokenPages(translator, renderIn(translator), options)]
    }),
  )
  const first = spoken.get(messages.languages[0]) as SpokenPages
  return { ...first, for: (preferences) => spoken.get(choose(preferences)) ?? first }
}

const createSpokenPages = (
  translator: Translator,
  render: Render,
  { accountUrl, scopes }: PagesOptions,
): SpokenPages => {
  const context: PageContext = {
    translator,
    describePermissions: createDescribePermissions(translator, scopes ?? []),
    accountUrl,
  }
  return {
    language: translator.language,
    show: (kind, page) => render(kind.view, kind.describe(page, context)),
  }
}
