import { generateKeyPairSync, sign } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { addBits, createBitmap } from '../core/attestation/status-list/bits.js'
import { createIndexOrder, indexCount } from '../core/attestation/status-list/index-order.js'
import { createStatusIndexes } from '../core/attestation/status-list/indexes.js'
import { createListIds } from '../core/attestation/status-list/list-ids.js'
import { createListsHere } from '../core/attestation/status-list/lists-here.js'
import { createListPublication } from '../core/attestation/status-list/publication.js'
import { createTokenStatus } from '../core/attestation/status-list/token-status.js'
import type { KeyRing } from '../core/keys/ports.js'
import { Durations } from '../core/observe/counts.js'
import { noLog } from '../core/observe/log.js'
import { openEmbedded } from '../stores/embedded/open-embedded.js'
import { createDevice, decodeJws, doublePlugin } from '../test/support/clients/attestation.js'
import { startFactorServer } from '../test/support/server/factor-server.js'
import { Load } from './load.js'

/**
 * Measures status lists in a minute: reading and signing a list of a million, its memory, indexes and records of
 * attestations, the ceremony with and without, and the list next to `/jwks.json` under load.
 */
const { values } = parseArgs({
  options: {
    parts: { type: 'string', default: 'lists,indexes,ceremonies,http' },
    ceremonies: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '2' },
    indexes: { type: 'string', default: '1000000' },
  },
})
const print = (head: readonly string[], rows: readonly (readonly string[])[]): void => {
  const table = new Table({ head: [...head], style: { head: [], border: [] } })
  table.push(...rows.map((row) => [...row]))
  console.log(table.toString())
}
const ms = (milliseconds: number): string => milliseconds.toFixed(1)

const folder = mkdtempSync(join(tmpdir(), 'signet-status-list-'))
const backend = await openEmbedded({ path: folder, clock: Date.now })
const bits = backend.records<string>('status_list_bits')
const ids = createListIds(backend.records('secrets'))
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
/** A double of the key ring with one key in this process. */
const ring = {
  sign: async ({ input }) => {
    const key = { kid: 'bench', alg: 'ES256', signerName: 'bench', signer: { publicJwk: { kty: 'EC' } } } as never
    const text = input(key)
    const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' })
    return { kid: 'bench', alg: 'ES256', signer: 'bench', publishedKey: {} as never, input: text, signature }
  },
} satisfies Pick<KeyRing, 'sign'>

const now = Date.now()
const clock = (): number => now

/** Creates a list in the store in which every `every`-th token is revoked. */
const fill = async (every: number): Promise<string> => {
  const list = await ids.make(Math.floor(now / 1000) + 86_400)
  const order = createIndexOrder(Buffer.from(list))
  const bitmap = createBitmap()
  const count = every === Infinity ? 0 : Math.floor(indexCount / every)
  addBits(
    bitmap,
    Array.from({ length: count }, (_, position) => order(position)),
  )
  for (let part = 0; count > 0 && part < 128; part++)
    await bits.put(
      `${list}.${part.toString(16).padStart(2, '0')}`,
      bitmap.bytes.subarray(part * 1024, (part + 1) * 1024).toString('base64'),
    )
  return list
}

const isWanted = (part: string): boolean => values.parts.split(',').includes(part)

if (isWanted('lists')) {
  const rebuilds: string[][] = []
  const held: unknown[] = []
  const before = process.memoryUsage()
  for (const [name, every] of Object.entries({ none: Infinity, '0.1 %': 1000, '1 %': 100, '10 %': 10, '50 %': 2 })) {
    const list = await fill(every)
    const took: number[] = []
    const own: number[] = []
    const spent: number[] = []
    let length = 0
    for (let time = 0; time < 9; time++) {
      const lists = createListsHere(bits, clock)
      const audit = { record: () => Promise.resolve() }
      const publication = createListPublication({
        ...{ lists, ids, ring, alg: 'ES256', issuer: 'https://id.example', ttlSeconds: 300, clock, audit, log: noLog },
        builds: new Durations(),
      })
      const [start, idle, cpu] = [performance.now(), performance.eventLoopUtilization(), process.cpuUsage()]
      length = (await publication.get(list)).body.length
      took.push(performance.now() - start)
      own.push(performance.eventLoopUtilization(idle).active)
      const { user, system } = process.cpuUsage(cpu)
      spent.push((user + system) / 1000)
      if (time === 0) held.push(publication)
    }
    const middle = (all: number[]): number => all.toSorted((a, b) => a - b)[4] ?? NaN
    rebuilds.push([name, ms(middle(took)), ms(middle(own)), ms(middle(spent)), `${(length / 1024).toFixed(1)} KiB`])
  }
  print(
    [
      'revoked of 1,048,576',
      'read, compressed, signed: ms',
      'of them in the event loop',
      'processor, all threads: ms',
      'token',
    ],
    rebuilds,
  )
  globalThis.gc?.()
  const after = process.memoryUsage()
  const grown = (after.external + after.heapUsed - before.external - before.heapUsed) / 2 ** 20
  console.log(`${String(held.length)} lists in memory: ${grown.toFixed(1)} MiB (heap and buffers)`)
}

if (isWanted('indexes')) {
  const nextIndex = createStatusIndexes({ lists: backend.records('status_lists'), ids, clock, tokenSeconds: 86_400 })
  let start = performance.now()
  for (let done = 0; done < Number(values.indexes); done += 1000)
    await Promise.all(Array.from({ length: 1000 }, () => nextIndex()))
  const allocation = (performance.now() - start) / 1000
  const status = createTokenStatus({
    clock: Date.now,
    entries: backend.records('status_list_entries'),
    bits,
    nextIndex,
    tokenSeconds: 86_400,
  })
  start = performance.now()
  const notes = 50_000
  for (let done = 0; done < notes; done += 500)
    await Promise.all(
      Array.from({ length: 500 }, (_, at) =>
        status.assign({ subject: 's', principalId: String(done + at), principalType: 'device' }, 'j'.repeat(43)),
      ),
    )
  const noting = (performance.now() - start) / 1000
  console.log(
    `${values.indexes} indexes: ${allocation.toFixed(1)} s; noted under principals: ${(notes / noting).toFixed(0)} a second`,
  )
}
await backend[Symbol.asyncDispose]()
rmSync(folder, { recursive: true })

if (!isWanted('ceremonies') && !isWanted('http')) process.exit()
const startOne = (attestation: object) =>
  startFactorServer([doublePlugin({ name: JSON.stringify(attestation) })], (written) => ({ ...written, attestation }))
await using plain = await startOne({})
await using listed = await startOne({ status_list: { ttl_secs: 300 } })
if (isWanted('ceremonies')) {
  const spent = new Map([plain, listed].map((server) => [server, 0]))
  const each = 20
  for (let done = 0; done < Number(values.ceremonies); done += each)
    for (const server of [plain, listed]) {
      const devices = await Promise.all(
        Array.from({ length: each }, (_, at) => createDevice(server.issuer, { principal_id: `d${String(done + at)}` })),
      )
      const cpu = process.cpuUsage()
      for (const device of devices) await device.attest()
      const { user, system } = process.cpuUsage(cpu)
      spent.set(server, (spent.get(server) ?? 0) + user + system)
    }
  const perCeremony = (server: typeof plain): string =>
    ms((spent.get(server) ?? 0) / 1000 / (Math.ceil(Number(values.ceremonies) / each) * each))
  print(
    ['an enrolment, client included', 'processor, ms'],
    [
      ['without lists', perCeremony(plain)],
      ['with', perCeremony(listed)],
    ],
  )
}

if (isWanted('http')) {
  const attestation = await (await createDevice(listed.issuer)).attest()
  const { status_list: reference } = decodeJws(attestation).payload['status'] as { status_list: { uri: string } }
  await using load = await Load.start()
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`
  const measure = async (path: string) => {
    const job = {
      port: Number(new URL(listed.issuer).port),
      pid: process.pid,
      connections: 32,
      repeat: true,
      warmMs: 500,
    }
    const { count, seconds, p99 } = await load.run({
      ...job,
      requests: [get(path)],
      measureMs: Number(values.seconds) * 1000,
    })
    return [(count / seconds).toFixed(0), ms(p99)]
  }
  const rows: string[][] = []
  for (const path of ['/jwks.json', new URL(reference.uri).pathname, '/jwks.json', new URL(reference.uri).pathname])
    rows.push([path, ...(await measure(path))])
  print(['GET', 'requests a second', 'p99 ms'], rows)
}
