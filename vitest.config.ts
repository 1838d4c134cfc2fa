import { defineConfig } from 'vitest/config'
import { findService } from './test/support/services/table.js'

const built = 'test/support/services/built.ts'
const hasStores = findService('mongodb') !== undefined && findService('redis') !== undefined
/** Flows and races over HTTP whose outcome depends on a store. */
const onEveryStore = [
  'test/{attestation,authorize,ciba,clients,device,dpop,keys,limits,people,registration,sign-in,token}/*.{flow,race}.test.ts',
  'test/token/kill-exchange.fault.test.ts',
  'test/recipes/apache.flow.test.ts',
]
/** Races, loads and the deadlines of the product: after everything else, so that no browser and no compiler disturbs them. */
const loads = ['test/**/*.{race,load}.test.ts']
/** Recipes whose packages take minutes: `npm run test:recipes`. */
const recipes = ['test/recipes/*.recipe.test.ts']
const last = { maxWorkers: 2, sequence: { groupOrder: 1 } }
/** A third process works on while the others wait for a command, a browser or a deadline. */
const first = { maxWorkers: 3 }
const exclude = ['test/architecture/broken-tree/**']

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
      {
        extends: true,
        test: {
          name: 'embedded',
          include: ['test/**/*.test.ts'],
          exclude: [...exclude, ...loads, ...recipes],
          globalSetup: [built],
          ...first,
        },
      },
      {
        extends: true,
        test: { name: 'loads', include: loads, globalSetup: [built], ...last },
      },
      {
        extends: true,
        test: { name: 'recipes', include: recipes, globalSetup: [built], ...last },
      },
      {
        extends: true,
        test: {
          name: 'mongodb+redis',
          include: hasStores ? onEveryStore : ['test/support/services/shared-stores.skipped.ts'],
          globalSetup: hasStores ? [built, 'test/support/services/shared-stores.ts'] : [],
          env: { SIGNET_TEST_ON: 'mongodb+redis' },
          ...first,
        },
      },
    ],
  },
})
