import { createRequire } from 'node:module'
import { gzipSync } from 'node:zlib'
import { join } from 'node:path'
import { packageRoot } from '../../core/package-root.js'

interface Built {
  readonly outputFiles: readonly { readonly text: string }[]
}
interface Esbuild {
  build(options: Readonly<Record<string, unknown>>): Promise<Built>
}

/** The one that comes with tsx. */
const esbuild = createRequire(createRequire(import.meta.url).resolve('tsx'))('esbuild') as Esbuild

export interface Bundle {
  readonly text: string
  /** Bytes that a browser loads. */
  readonly gzipped: number
}

/** A module of this repository for browsers, minified, without the packages that are named in `external`. */
export const bundle = async (entry: string, external: readonly string[] = []): Promise<Bundle> => {
  const { outputFiles } = await esbuild.build({
    entryPoints: [join(packageRoot, entry)],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    external,
    logLevel: 'silent',
  })
  const [{ text } = { text: '' }] = outputFiles
  return { text, gzipped: gzipSync(text, { level: 9 }).length }
}
