import { spawnSync } from 'node:child_process'
import { javaPrograms } from './java-programs.js'
import { isHeavy, recipes } from './recipes.js'
import { findService, howToGet, onContinuousIntegration, packagesOf, serviceNames } from './table.js'

// Brings what tests need beside Node: as root on Debian by apt-get, otherwise it says what is missing. With `--recipes`
// also what `npm run test:recipes` alone needs.

const all = process.argv.includes('--recipes')
const services = serviceNames.filter((name) => all || !isHeavy(name.replace(/ recipe$/, '')))

const apt = (...args: string[]): boolean => {
  const { status } = spawnSync('apt-get', args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
  return status === 0
}

const missing = () => services.filter((name) => findService(name) === undefined)

const wanted = missing()
const packages = wanted.flatMap(packagesOf)
if (packages.length > 0 && process.getuid?.() === 0) {
  console.log(`Test services: installing ${packages.join(', ')} (apt-get, a minute or less)`)
  apt('update', '-qq')
  if (!apt('install', '-y', '-qq', '--no-install-recommends', ...packages))
    console.error('Test services: apt-get failed')
}

for (const program of javaPrograms)
  if (program.isMissing && !program.build())
    console.error(`Test services: ${program.classFile} could not be made by Maven and javac`)

await Promise.all(
  Object.entries(recipes).map(async ([name, recipe]) => {
    if ((all || !isHeavy(name)) && recipe.isMissing && !(await recipe.install()))
      console.error(`Test services: the packages of docs/recipes/${name}.md could not be installed`)
  }),
)

for (const name of missing()) {
  console.error(`Test services: missing is ${howToGet(name)}; tests that need it`)
  console.error(onContinuousIntegration() ? '  FAIL, because CI=true' : '  are SKIPPED')
}
if (missing().length === 0) console.log(`Test services: ${services.join(', ')} present`)
