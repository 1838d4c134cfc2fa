import { checkConfiguration } from '../../../../core/checks/check-configuration.js'
import { startHost } from '../../../../core/host/compose.js'
import { loadPages } from '../../../../core/host/load-pages.js'
import { inBothRoles } from '../../stores/failing-store.js'
import { migrateForTest } from '../../stores/test-stores.js'
import { breakStore } from './broken-store.js'

// The product on a store that looks first and saves afterwards.

const [file = ''] = process.argv.slice(2)
const log = { debug() {}, info() {}, warn() {}, error: console.error }
const checked = await checkConfiguration(file, {}, loadPages)
await migrateForTest(checked.config, true)
await startHost(checked, {
  clock: Date.now,
  log,
  doubles: { stores: inBothRoles(breakStore) },
})
console.log('"started"')
