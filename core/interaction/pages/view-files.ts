import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { packageRoot } from '../../package-root.js'

const folder = join(packageRoot, 'core/interaction/views')

/** Reads the views of Signet, by name. */
export const readViews = (): ReadonlyMap<string, string> =>
  new Map(readdirSync(folder).map((file) => [basename(file, '.eta'), readFileSync(join(folder, file), 'utf8')]))

/** The names of the views. A deployment may replace each of them. */
export const replaceableViews = [...readViews().keys()]
