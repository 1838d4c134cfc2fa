import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { extname, join } from 'node:path'
import { packageRoot } from '../../package-root.js'

/** A file that the pages link to. */
export interface Asset {
  readonly contentType: string
  readonly body: Buffer
  /** It changes with the file, and serves as its `ETag` and as `v` in the links of the pages. */
  readonly version: string
}

const contentTypes = new Map([
  ['.css', 'text/css; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.jpg', 'image/jpeg'],
  ['.jpeg', 'image/jpeg'],
  ['.webp', 'image/webp'],
  ['.ico', 'image/x-icon'],
])

/** Returns undefined for a name whose extension has no content type. */
export const createAsset = (name: string, body: Buffer): Asset | undefined => {
  const contentType = contentTypes.get(extname(name).toLowerCase())
  if (contentType === undefined) return undefined
  return { contentType, body, version: createHash('sha256').update(body).digest('base64url').slice(0, 16) }
}

/**
 * Modules that the scripts of the pages import: one from a package, and our own library as it is built for browsers.
 */
const modules = new Map([
  ['qr.js', createRequire(import.meta.url).resolve('qr')],
  ['webauthn.js', join(packageRoot, 'dist/browser/webauthn.js')],
  ['signet-device.js', join(packageRoot, 'dist/browser/signet-device.js')],
])

/**
 * Reads `core/interaction/assets` and these folders once, and returns the files by name. Throws for a file whose kind
 * has no content type.
 */
export const loadAssets = (...folders: readonly string[]): ReadonlyMap<string, Asset> => {
  const assets = new Map<string, Asset>()
  const own = [join(packageRoot, 'core/interaction/assets'), ...folders].flatMap((folder) =>
    readdirSync(folder).map((name) => [name, join(folder, name)] as const),
  )
  for (const [name, file] of [...own, ...modules]) {
    const asset = createAsset(name, readFileSync(file))
    if (asset === undefined) throw new Error(`The asset ${name}: no content type is known for it`)
    assets.set(name, asset)
  }
  return assets
}
