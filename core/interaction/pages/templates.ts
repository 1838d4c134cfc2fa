import { Eta } from 'eta/core'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { packageRoot } from '../../package-root.js'
import type { Asset } from './load-assets.js'

export interface TemplateOptions {
  /** The name over each page: the operator's, or the product's. */
  readonly brand: string
  /** Path of the assets, without a trailing slash: `/assets`, `/op/assets`. */
  readonly assetsPath: string
  readonly assets: ReadonlyMap<string, Asset>
}

/** Renders `views/{view}.eta` to a whole document. Every interpolation is escaped. */
export type Render = (view: string, data: { readonly title: string; readonly [name: string]: unknown }) => string

/** Compiles every view now, so that a broken one stops the start and rendering reads no file. */
export const compileTemplates = (options: TemplateOptions): Render => {
  const eta = new Eta({ autoEscape: true, cache: true, rmWhitespace: false })
  const folder = join(packageRoot, 'core/interaction/views')
  for (const file of readdirSync(folder)) {
    eta.loadTemplate(`@${basename(file, '.eta')}`, readFileSync(join(folder, file), 'utf8'))
  }
  const asset = (name: string): string => {
    const found = options.assets.get(name)
    if (!found) throw new Error(`There is no asset called ${name}.`)
    return `${options.assetsPath}/${name}?v=${found.version}`
  }
  return (view, data) => eta.render(`@${view}`, { brand: options.brand, asset, ...data })
}
