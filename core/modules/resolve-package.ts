import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const conditions = new Set(['import', 'node', 'default'])

/** The file that an `exports` value selects (Node.js, "Packages", conditional exports). */
const pickTarget = (target: unknown): string | undefined => {
  if (typeof target === 'string') return target
  if (Array.isArray(target)) return target.map(pickTarget).find((found) => found !== undefined)
  if (typeof target !== 'object' || target === null) return undefined
  for (const [condition, inner] of Object.entries(target)) {
    const found = conditions.has(condition) ? pickTarget(inner) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

const findPackage = (name: string, directory: string): string | undefined => {
  const candidate = join(directory, 'node_modules', name)
  if (existsSync(join(candidate, 'package.json'))) return candidate
  const above = dirname(directory)
  return above === directory ? undefined : findPackage(name, above)
}

/**
 * The entry file of an npm package (`name`, `@scope/name`, `name/subpath`) as an `import` in `directory` would
 * resolve it, or undefined. `import.meta.resolve` only resolves from its own module, and `require.resolve` misses
 * packages that export for `import` only. Subpath patterns are not supported.
 */
export const resolvePackage = (specifier: string, directory: string): string | undefined => {
  const [, name, subpath] = /^((?:@[\w.~-]+\/)?[\w~-][\w.~-]*)(\/.+)?$/.exec(specifier) ?? []
  const folder = name === undefined ? undefined : findPackage(name, directory)
  if (folder === undefined) return undefined
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    exports?: unknown
    main?: unknown
  }
  const key = `.${subpath ?? ''}`
  const { exports } = manifest
  const inside = (target: string | undefined): string | undefined => {
    const file = target === undefined ? undefined : resolve(folder, target)
    return file !== undefined && existsSync(file) ? file : undefined
  }
  if (exports === undefined || exports === null)
    return inside(subpath === undefined ? (typeof manifest.main === 'string' ? manifest.main : 'index.js') : key)
  const byPath = typeof exports === 'object' && Object.keys(exports).some((name) => name.startsWith('.'))
  if (byPath) return inside(pickTarget((exports as Record<string, unknown>)[key]))
  return key === '.' ? inside(pickTarget(exports)) : undefined
}
