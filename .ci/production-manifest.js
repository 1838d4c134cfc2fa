import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'

/** A manifest, or the root of a lockfile, with the packages of every module and of nothing else: optional peers are dependencies. */
export const productionManifest = (manifest) => {
  const { dependencies, peerDependencies } = manifest
  const replaced = { dependencies: { ...dependencies, ...peerDependencies }, peerDependencies: {}, devDependencies: {} }
  return { ...manifest, ...replaced }
}

// Has `npm ci` in the working directory install what the image runs, in the versions of its lockfile.
if (argv[1] === fileURLToPath(import.meta.url)) {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
  writeFileSync('package.json', `${JSON.stringify(productionManifest(manifest), null, 2)}\n`)
}
