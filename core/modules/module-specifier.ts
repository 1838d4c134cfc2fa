import { existsSync, readdirSync } from 'node:fs'
import { dirname, extname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNearMiss } from '../near-miss.js'
import { packageRoot } from '../package-root.js'
import { resolvePackage } from './resolve-package.js'

const here = fileURLToPath(import.meta.url)
/** The running code tree, TypeScript source or `dist/`. Built-in modules are loaded from the same one. */
const codeRoot = resolve(dirname(here), '..', '..')
const entry = `index${extname(here)}`

const kinds = ['plugins', 'signers', 'stores'] as const
export type ModuleKind = (typeof kinds)[number]

/** The specifiers of the modules in this package: folders with an entry file. */
export const listBuiltIn = (kind: ModuleKind): string[] =>
  readdirSync(join(codeRoot, kind), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(`${sep}${entry}`))
    .map((file) => `${kind}/${dirname(file).split(sep).join('/')}`)

export type ResolvedSpecifier = { readonly file: string; readonly builtIn: boolean } | { readonly fault: string }

/** Resolves `./file.js` beside the configuration, or an npm package as seen from its folder, then from ours. */
const resolveOutside = (use: string, configDirectory: string): ResolvedSpecifier => {
  if (/^\.{0,2}\//.test(use)) {
    const file = resolve(configDirectory, use)
    return existsSync(file) ? { file, builtIn: false } : { fault: 'no such file next to the configuration' }
  }
  const file = resolvePackage(use, configDirectory) ?? resolvePackage(use, packageRoot)
  return file === undefined ? { fault: 'this npm package is not installed' } : { file, builtIn: false }
}

/**
 * The file that `use` names: `plugins/…`, `signers/…` or `stores/…` of this package, `./file.js` beside the
 * configuration, or an npm package as seen from the configuration's folder, then from ours.
 */
export const resolveSpecifier = (kind: ModuleKind, use: string, configDirectory: string): ResolvedSpecifier => {
  const [root] = use.split('/')
  if (root === kind) {
    const file = join(codeRoot, ...use.split('/'), entry)
    if (/^[a-z]+(?:\/[a-z0-9-]+)+$/.test(use) && existsSync(file)) return { file, builtIn: true }
    const builtIn = listBuiltIn(kind)
    const near = findNearMiss(use, builtIn)
    return {
      fault: near === undefined ? `unknown; available: ${builtIn.join(', ')}` : `unknown; did you mean \`${near}\`?`,
    }
  }
  if (kinds.some((other) => root === other)) return { fault: `must be one of ${kind}/…, not of ${String(root)}/…` }
  return resolveOutside(use, configDirectory)
}
