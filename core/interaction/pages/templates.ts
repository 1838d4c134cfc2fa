import { Eta } from 'eta/core'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { packageRoot } from '../../package-root.js'
import type { Words } from '../languages/words.js'
import type { Asset } from './load-assets.js'
import type { Brand, Look } from './look.js'

export interface TemplateOptions {
  readonly look: Pick<Look, 'brand' | 'byClient'>
  /** What stands over each page where the brand has neither logo nor name. */
  readonly name: string
  /** Path of the assets, without a trailing slash: `/assets`, `/op/assets`. */
  readonly assetsPath: string
  readonly assets: ReadonlyMap<string, Asset>
}

/** What a view is given, beside what every page has. */
export interface ViewData {
  readonly title: string
  /** Whose request the page belongs to: the page has the brand of this client. */
  readonly clientId?: string | undefined
  readonly [name: string]: unknown
}

/**
 * Renders `views/{view}.eta` to a whole document. Every interpolation is escaped. Views write their texts by
 * `it.t('login.title')`, and `it.around('login.to_client')` gives what stands before and after a name.
 */
export type Render = (view: string, data: ViewData) => string

/** Compiles every view now, so that a broken one stops the start and rendering reads no file. It renders in the language of the words. */
export const compileTemplates = (options: TemplateOptions): ((words: Words) => Render) => {
  const { look, assets, assetsPath } = options
  const eta = new Eta({ autoEscape: true, cache: true, rmWhitespace: false })
  const folder = join(packageRoot, 'core/interaction/views')
  for (const file of readdirSync(folder)) {
    eta.loadTemplate(`@${basename(file, '.eta')}`, readFileSync(join(folder, file), 'utf8'))
  }
  const find = (name: string): Asset => {
    const found = assets.get(name)
    if (!found) throw new Error(`There is no asset called ${name}.`)
    return found
  }
  const asset = (name: string): string => `${assetsPath}/${name}?v=${find(name).version}`
  const showIn =
    (words: Words) =>
    ({ name, logo, logoDark, icon = 'signet.svg', sheets, links }: Brand) => ({
      name: name ?? options.name,
      logo: logo && asset(logo),
      logoDark: logoDark && asset(logoDark),
      /** Of the product, where the deployment has no name of its own. */
      hasSeal: name === undefined,
      icon: { url: asset(icon), type: find(icon).contentType },
      sheets: sheets.map(asset),
      links: links.map(({ title, url }) => ({ title: words.own(title) ?? words.text('common.help'), url })),
    })
  return (words) => {
    const { language, dir, text: t, around } = words
    const show = showIn(words)
    const common = show(look.brand)
    const byClient = new Map([...look.byClient].map(([id, brand]) => [id, show(brand)]))
    return (view, data) => {
      const brand = byClient.get(data.clientId ?? '') ?? common
      return eta.render(`@${view}`, { brand, asset, language, dir, t, around, ...data })
    }
  }
}
