import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { extname, join } from 'node:path'
import { packageRoot } from '../../package-root.js'

/** A file that the pages link to. */
export interface Asset {
  readonly contentType: string
  readonly body: Buffer
  /** Changes when the file does: its `ETag`, and `v` in the links of the pages. */
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

/** Undefined for a name whose ending has no content type. */
export const createAsset = (name: string, body: Buffer): Asset | undefined => {
  const contentType = contentTypes.get(extname(name).toLowerCase())
  if (contentType === undefined) return undefined
  return { contentType, body, version: createHash('sha256').update(body).digest('base64url').slice(0, 16) }
}

/** Modules that scripts of the pages import: of a package, and of our own library, as the build makes it for browsers. */
const modules = new Map([
  ['qr.js', createRequire(import.meta.url).resolve('qr')],
  ['webauthn.js', join(packageRoot, 'dist/browser/webauthn.js')],
  ['signet-device.js', join(packageRoot, 'dist/browser/signet-device.js')],
])

/** Reads `core/interaction/assets`, and these folders, once; by file name. Throws for a file of a kind that has no content type. */
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
