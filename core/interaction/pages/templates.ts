import { Eta } from 'eta/core'
import type { Translator } from '../languages/translator.js'
import type { Asset } from './load-assets.js'
import type { Brand, Theme } from './theme.js'
import { readViews } from './view-files.js'

export interface TemplateOptions {
  readonly theme: Pick<Theme, 'brand' | 'byClient' | 'views'>
  /** The heading of each page when the brand has neither a logo nor a name. */
  readonly name: string
  /** Path of the assets, without a trailing slash: `/assets`, `/op/assets`. */
  readonly assetsPath: string
  readonly assets: ReadonlyMap<string, Asset>
  /** Views by name. The default is those of the public pages. */
  readonly views?: ReadonlyMap<string, string>
}

/** The data of a view, in addition to what every page has. */
export interface ViewData {
  readonly title: string
  /** The client whose request the page belongs to. The page has the brand of this client. */
  readonly clientId?: string | undefined
  readonly [name: string]: unknown
}

/**
 * Renders `views/{view}.eta` to a complete document. Every interpolation is escaped. Views get their texts by
 * `it.t('login.title')`, and `it.around('login.to_client')` returns what comes before and after a name.
 */
export type Render = (view: string, data: ViewData) => string

const compile = (eta: Eta, name: string, text: string, write: (template: string) => string): void => {
  try {
    eta.loadTemplate(`@${name}`, write(text))
  } catch (error) {
    throw new Error(`${name}.eta: ${(error as Error).message}`, { cause: error })
  }
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escapeMarkup = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => escapes[sign] ?? '')

/**
 * Writes what is the same on every page of a language into its templates, so that it is not looked up for each page.
 */
const writeConstants = (template: string, translator: Translator, asset: (name: string) => string): string =>
  template
    .replaceAll(/<%=\s*it\.t\('([\w.]+)'\)\s*%>/g, (_, key: string) => escapeMarkup(translator.text(key)))
    .replaceAll(/<%=\s*it\.asset\('([\w.-]+)'\)\s*%>/g, (_, name: string) => escapeMarkup(asset(name)))
    .replaceAll(/<%=\s*it\.(language|dir)\s*%>/g, (_, name: 'language' | 'dir') => translator[name])

/**
 * Compiles every view for the language of a translator at once, so that a broken view stops the start and rendering
 * reads no files.
 */
export const compileTemplates = (options: TemplateOptions): ((translator: Translator) => Render) => {
  const { theme, assets, assetsPath, views: own = readViews() } = options
  const views = new Map([...own, ...theme.views])
  const find = (name: string): Asset => {
    const found = assets.get(name)
    if (!found) throw new Error(`There is no asset called ${name}.`)
    return found
  }
  const asset = (name: string): string => `${assetsPath}/${name}?v=${find(name).version}`
  const showIn =
    (translator: Translator) =>
    ({ name, logo, logoDark, icon = 'signet.svg', sheets, links, help, forgotPassword, register }: Brand) => ({
      ...{ help, forgotPassword, register },
      name: name ?? options.name,
      logo: logo && asset(logo),
      logoDark: logoDark && asset(logoDark),
      /** The seal of the product is shown when the deployment has no name of its own. */
      hasSeal: name === undefined,
      icon: { url: asset(icon), type: find(icon).contentType },
      sheets: sheets.map(asset),
      links: links.map(({ title, url }) => ({ title: translator.own(title) ?? translator.text('common.help'), url })),
    })
  const plain =
    theme.views.size === 0 ? undefined : compileTemplates({ ...options, theme: { ...theme, views: new Map() } })
  return (translator) => {
    const { language, dir, text: t, around } = translator
    const eta = new Eta({ autoEscape: true, cache: true, rmWhitespace: false })
    for (const [name, text] of views)
      compile(eta, name, text, (template) => writeConstants(template, translator, asset))
    const showBrand = showIn(translator)
    const show = (shown: Brand) => {
      const brand = showBrand(shown)
      return { ...brand, html: eta.render('@brand', { brand, asset, language, dir, t, around }) }
    }
    const common = show(theme.brand)
    const byClient = new Map([...theme.byClient].map(([id, brand]) => [id, show(brand)]))
    const render: Render = (view, data) => {
      const brand = byClient.get(data.clientId ?? '') ?? common
      return eta.render(`@${view}`, { brand, asset, language, dir, t, around, ...data })
    }
    const plainly = plain?.(translator)
    if (plainly === undefined) return render
    return (view, data) => {
      if (view !== 'error') return render(view, data)
      // An error while rendering the error page could not be shown on any page.
      try {
        return render(view, data)
      } catch {
        return plainly(view, data)
      }
    }
  }
}
