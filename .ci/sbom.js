import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { productionManifest } from './production-manifest.js'

/**
 * Prints the bill of materials of what runs, as CycloneDX. `npm sbom --omit dev` leaves out what a development dependency
 * needs as well (koa, yaml), so npm is shown a product that has no such dependencies.
 */
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const read = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'))
const lock = read('package-lock.json')
const packages = { ...lock.packages, '': productionManifest(lock.packages['']) }

const temporary = mkdtempSync(join(tmpdir(), 'signet-sbom-'))
try {
  // npm calls the product by the name of its folder.
  const folder = join(temporary, 'signet-idp')
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify(productionManifest(read('package.json'))))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ ...lock, packages }))
  const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application']
  const { status } = spawnSync('npm', args, { cwd: folder, stdio: 'inherit' })
  process.exitCode = status ?? 1
} finally {
  rmSync(temporary, { recursive: true })
}
