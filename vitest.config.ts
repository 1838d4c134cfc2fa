import { defineConfig } from 'vitest/config'
import { useMemoryFolder } from './test/support/services/memory-folder.js'
import { findService } from './test/support/services/table.js'
import { alikeOnEveryStore, onEveryStore, racesOverHttp, slow } from './test/support/services/parts.js'

useMemoryFolder()

const built = 'test/support/services/built.ts'
const hasStores = findService('mongodb') !== undefined && findService('redis') !== undefined
const [races, loads, recipes] = ['test/**/*.race.test.ts', 'test/**/*.load.test.ts', 'test/**/*.recipe.test.ts']
/** A third process works while the others wait for a command, a browser or a deadline. */
const first = { maxWorkers: 3 }
/** After those, so that no browser and no compiler disturbs what has to keep a deadline: most of them wait for one. */
const waiting = { maxWorkers: 3, sequence: { groupOrder: 1 } }
/** Each has processes of its own that compete. */
const competing = { maxWorkers: 3, sequence: { groupOrder: 2 } }
const installing = { maxWorkers: 2, sequence: { groupOrder: 3 } }
const exclude = ['test/architecture/broken-tree/**']

const project = (name: string, include: readonly string[], when: object, without: readonly string[] = []) => ({
  extends: true as const,
  test: { name, include: [...include], exclude: [...exclude, ...without], globalSetup: [built], ...when },
})
const onStores = (name: string, include: readonly string[], without: readonly string[] = []) => {
  const of = project(name, hasStores ? include : ['test/support/services/shared-stores.skipped.ts'], first, without)
  const globalSetup = hasStores ? [built, 'test/support/services/shared-stores.ts'] : []
  return { ...of, test: { ...of.test, globalSetup, env: { SIGNET_TEST_ON: 'mongodb+redis' } } }
}

export default defineConfig({
  test: {
    exclude,
    setupFiles: ['test/support/services/unhurried-loop.ts'],
    reporters: ['default', './test/support/services/counts-reporter.ts'],
    // Tests start servers, processes and browsers; a limit is there to end a hang, not to measure.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    // As long as a part that failed may take to be back. The runner's own default, one second, would judge the machine.
    expect: { poll: { timeout: 5000 } },
    pool: 'forks',
    // The files that a process runs share what they import, which is a third of the time otherwise.
    isolate: false,
    projects: [
      project('embedded', ['test/**/*.test.ts'], first, [races, loads, recipes, ...slow]),
      onStores('mongodb+redis', onEveryStore, [...alikeOnEveryStore, ...slow]),
      project('races', [races], competing, racesOverHttp),
      // From here on: `npm run test:more`, and the heavy recipes.
      project('slow', slow, first),
      onStores('alike on mongodb+redis', alikeOnEveryStore),
      project('races over HTTP', racesOverHttp, competing),
      project('loads', [loads], waiting),
      project('recipes', [recipes], installing),
    ],
  },
})
