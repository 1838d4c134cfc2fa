import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { packageRoot } from '../../package-root.js'

const folder = join(packageRoot, 'core/interaction/views')

/** The views of Signet, by name. */
export const readViews = (): ReadonlyMap<string, string> =>
  new Map(readdirSync(folder).map((file) => [basename(file, '.eta'), readFileSync(join(folder, file), 'utf8')]))

/** Names of the views, each of which a deployment may replace. */
export const replaceableViews = [...readViews().keys()]
