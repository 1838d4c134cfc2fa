import { spawnSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { personalRecordsIn } from '../core/collections/person-records.js'
import { sessionEntryId } from '../core/interaction/session.js'
import { grantEntryId } from '../core/oauth/grants/grant-index.js'
import { hashOpaqueToken, newOpaqueToken } from '../core/opaque-token.js'
import { openEmbedded } from '../stores/embedded/open-embedded.js'
import { openMongodb } from '../stores/mongodb/open-mongodb.js'
import { loadConfig } from '../config/load.js'
import { createDeployment } from '../test/support/server/processes.js'
import { subject, webClient } from '../test/support/server/server.js'
import { startMongo } from '../test/support/stores/mongo-server/start.js'
import { bulkLoadMongodb, bulkLoadRecords } from './bulk-load.js'

/**
 * Measures what one person has among the sessions and grants of everybody: `/account` and the query of `signet
 * sessions list`, with one caller. `--store mongodb` uses `MONGODB_URI` if set, otherwise the stand-in.
 */
const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'embedded' },
    grants: { type: 'string', default: '1000000' },
    sessions: { type: 'string', default: '3000000' },
    times: { type: 'string', default: '200' },
  },
})
const [grants, sessions, times] = [Number(values.grants), Number(values.sessions), Number(values.times)]
const isMongodb = values.store === 'mongodb'
const max_size_mb = 65_536

await using server = isMongodb ? await startMongo(0, 1024 + Math.ceil((grants + sessions) / 500)) : undefined
const storage = server && {
  use: 'mongodb',
  options: { uri: server.uri(), database: server.database, max_size_mb: 1_000_000 },
}
const folder = mkdtempSync(join(tmpdir(), 'signet-account-'))
const path = join(folder, 'store')
const chosen = storage ?? { use: 'embedded', options: { path, max_size_mb } }
await using deployment = await createDeployment((written) => ({
  ...written,
  storage: { records: chosen, ephemeral: chosen },
  pairwise_key: randomBytes(32).toString('base64url'),
  clients: [{ ...webClient, subject_type: 'pairwise' }],
}))
await using store = server
  ? await openMongodb({ uri: server.uri(), database: server.database, clock: Date.now, timeoutFactor: 20 })
  : await openEmbedded({ path, clock: Date.now, max_size_mb })

const now = Date.now()
const expiresAt = now + 86_400_000
const authTime = Math.floor(now / 1000)
const cookie = newOpaqueToken()
/** The first five belong to the measured person, the others to people with three sessions and one grant each. */
const subjectOf = (index: number, each: number): string =>
  index < 5 ? subject : `person-${String(Math.floor(index / each))}`
const sessionOf = (index: number) => ({
  ...{ sid: newOpaqueToken(), subject: subjectOf(index, 3), authTime, amr: ['pwd'], interactionId: 'i' },
  key: index === 0 ? hashOpaqueToken(cookie) : `${String(index).padStart(43, 's')}`,
})
const load = server ? bulkLoadMongodb(server.uri(), server.database) : bulkLoadRecords((name) => store.records(name))
const begun = performance.now()
await load('session_index', sessions, (index) => {
  const record = sessionOf(index)
  return { id: sessionEntryId(record), record, expiresAt }
})
// They are found by key only, so those of the person are enough.
await load('sessions', 5, (index) => {
  const { key, ...record } = sessionOf(index)
  return { id: key, record, expiresAt }
})
await load('grant_index', grants, (index) => {
  const record = {
    ...{
      grantId: randomUUID(),
      clientId: 'web',
      subject: subjectOf(index, 1),
      sid: 's',
      scope: ['openid'],
      resource: [],
    },
    ...{ authTime, grantedAt: authTime },
  }
  return { id: grantEntryId(record), record, expiresAt }
})
process.stderr.write(`loaded in ${((performance.now() - begun) / 1000).toFixed(0)} s\n`)

const { origin } = await deployment.start()
const config = await loadConfig(join(deployment.directory, 'signet.yaml'), process.env)
const stores = { records: store, ephemeral: store, [Symbol.asyncDispose]: async () => {} }
const records = personalRecordsIn(stores, config, Date.now)

const cases: readonly (readonly [string, () => Promise<number>])[] = [
  [
    'GET /account',
    async () => {
      const answer = await fetch(`${origin}/account`, { headers: { cookie: `signet-session=${cookie}` } })
      const found = (await answer.text()).split('name="csrf"').length - 1
      if (answer.status !== 200) throw new Error(`/account answered ${String(answer.status)}`)
      return found
    },
  ],
  ['the query of `signet sessions list`', async () => (await records.listSessions(subject)).length],
  ['the query of `signet grants list`', async () => (await records.listGrants(subject)).length],
]
const table = new Table({ head: ['', 'found', 'p50 ms', 'p99 ms'], style: { head: [], border: [] } })
for (const [name, work] of cases) {
  const took: number[] = []
  let found = 0
  for (let time = 0; time < times; time++) {
    const start = performance.now()
    found = await work()
    took.push(performance.now() - start)
  }
  took.sort((a, b) => a - b)
  table.push([name, found, ...[0.5, 0.99].map((part) => (took[Math.floor(times * part)] ?? NaN).toFixed(1))])
}
const commands: readonly (readonly string[])[] = [
  ['version'],
  ['sessions', 'list', '--sub', subject],
  // Matches nobody, so it reads everybody.
  ['people', 'find', '--client', 'web', '--sub', 'A'.repeat(43)],
]
for (const [index, args] of commands.entries()) {
  const took = [1, 2, 3].map(() => {
    const start = performance.now()
    const file = ['--config', join(deployment.directory, 'signet.yaml')]
    const { stderr } = spawnSync(process.execPath, [
      'bin/signet.js',
      ...(index === 0 ? ['--version'] : [...args, ...file]),
    ])
    if (stderr.length > 0 && !stderr.includes('is known to it by this subject')) throw new Error(stderr.toString())
    return performance.now() - start
  })
  const median = took.toSorted((x, y) => x - y)[1] ?? NaN
  table.push([`signet ${args.slice(0, 2).join(' ')}, the whole command`, '', median.toFixed(0), ''])
}
console.log(`${values.store}: ${sessions.toLocaleString('en-US')} sessions, ${grants.toLocaleString('en-US')} grants`)
console.log(table.toString())
rmSync(folder, { recursive: true })
