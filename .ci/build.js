import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Compiles to `dist/`, incrementally, and drops what no longer has a source: a plugin that was renamed must not stay
 * loadable under its old name.
 */
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')

const stale = (file) => {
  const source = file.match(/^(.+?)\.(?:js|d\.ts)(?:\.map)?$/)?.[1]
  return source !== undefined && !existsSync(join(root, `${source}.ts`))
}

const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })

if (existsSync(dist)) {
  for (const file of readdirSync(dist, { recursive: true })) if (stale(file)) rmSync(join(dist, file))
}

process.exitCode = status ?? 1
