import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { packageRoot } from '../../package-root.js'

const folder = join(packageRoot, 'core/interaction/views')

/** Reads the views of a folder, by name. */
export const readViewsOf = (path: string): ReadonlyMap<string, string> =>
  new Map(readdirSync(path).map((file) => [basename(file, '.eta'), readFileSync(join(path, file), 'utf8')]))

/** Reads the views of the public pages, by name. */
export const readViews = (): ReadonlyMap<string, string> => readViewsOf(folder)

/** The names of the views. A deployment may replace each of them. */
export const replaceableViews = [...readViews().keys()]
