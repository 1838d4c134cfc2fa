import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const findRoot = (directory: string): string =>
  existsSync(join(directory, 'package.json')) ? directory : findRoot(dirname(directory))

/** The folder of this package, the same from source and from `dist/`: what is not code is read from here. */
export const packageRoot = findRoot(dirname(fileURLToPath(import.meta.url)))

export const packageVersion = (
  JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { readonly version: string }
).version
