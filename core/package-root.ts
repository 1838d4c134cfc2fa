import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const findRoot = (directory: string): string =>
  existsSync(join(directory, 'package.json')) ? directory : findRoot(dirname(directory))

/** The folder of this package, the same from source and from `dist/`. Files other than code are read from here. */
export const packageRoot = findRoot(dirname(fileURLToPath(import.meta.url)))

const manifest = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
  readonly version: string
  readonly peerDependencies: Readonly<Record<string, string>>
}

export const packageVersion = manifest.version

/** The packages that only some modules need, with the range of versions: those who use such a module install them. */
export const optionalPackages = manifest.peerDependencies

const readCommit = (): string | undefined => {
  try {
    return readFileSync(join(packageRoot, 'dist', 'commit'), 'utf8')
  } catch {
    return undefined
  }
}

/** The commit of this build as 12 hexadecimal digits. Undefined when it was built without a repository. */
const packageCommit = readCommit()

/** Identifies a build for operators. */
export const build: { readonly version: string; readonly commit?: string } = Object.freeze({
  version: packageVersion,
  ...(packageCommit !== undefined && { commit: packageCommit }),
})
