import { generateKeyPairSync, sign } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { collections } from '../core/collections/collections.js'
import type { AuditSignatures } from '../core/keys/audit-signatures.js'
import type { KeyLogEntry } from '../core/keys/log/entry.js'
import { createKeyLog } from '../core/keys/log/key-log.js'
import { readHead } from '../core/keys/log/log-store.js'
import { openProver, readKeyLog } from '../core/keys/log/read-log.js'
import { openEmbedded } from '../stores/embedded/open-embedded.js'

/** Measures appends to a key log, with their signature and both durable writes, and proofs out of it, one at a time. */
const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '100000' },
    samples: { type: 'string', default: '500' },
    path: { type: 'string', default: mkdtempSync(join(tmpdir(), 'signet-key-log-')) },
  },
})
const [entries, samples] = [Number(values.entries), Number(values.samples)]
await using backend = await openEmbedded({ path: values.path, clock: Date.now })
const { keyLog: store } = collections({ records: backend, ephemeral: backend } as never)

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const signatures = {
  sign: async (_document: string, input: (key: never) => string) => {
    const text = input(undefined as never)
    return { publishedKey: { publicKey }, signature: sign(null, Buffer.from(text), privateKey) }
  },
} as unknown as AuditSignatures
const log = createKeyLog({ store, issuer: 'https://id.bank.example', signatures })

/** A hundred keys are in use, and each entry is about the next key. */
const entryAt = (index: number): KeyLogEntry => ({
  kid: `es-${String(index)}`,
  thumbprint: Buffer.alloc(32, index % 256).toString('base64url'),
  alg: 'ES256',
  purposes: ['access_token', 'id_token', 'logout_token'],
  signer: 'signers/pkcs11',
  step: index % 1000 === 0 ? 'signing' : 'gone',
  time: '2026-11-26T00:00:00Z',
})

let size = 0
/** Appends what follows; no other process appends here. */
const append = async (count: number) => {
  const end = size + count
  const head = await log.append((keys) => {
    const last = keys.at(-1)
    const from = last === undefined ? 0 : Number(last.kid.slice('es-'.length)) + 1
    return Array.from({ length: Math.max(0, Math.min(end - from, 300)) }, (_, place) => entryAt(from + place))
  })
  size = head.size
  return head
}

const measure = async (what: string, work: (index: number) => Promise<unknown>) => {
  const times: number[] = []
  for (let index = 0; index < samples; index++) {
    const begin = performance.now()
    await work(index)
    times.push(performance.now() - begin)
  }
  times.sort((left, right) => left - right)
  const at = (share: number): string => (times[Math.floor(share * (samples - 1))] ?? NaN).toFixed(2)
  return [what, at(0.5), at(0.99), at(1)]
}

await log.sign(await append(entries), AbortSignal.timeout(10_000))
const rows = [
  await measure('append one entry, sign it', async () => log.sign(await append(1), AbortSignal.timeout(10_000))),
  await measure('inclusion proof', async (index) => {
    const prover = openProver(store, await readHead(store))
    await prover.inclusion((index * 7919) % size, size)
  }),
  await measure('consistency proof', async (index) => {
    const prover = openProver(store, await readHead(store))
    await prover.consistency(1 + ((index * 7919) % (size - 1)), size)
  }),
]
const begin = performance.now()
await readKeyLog(store)
const table = new Table({ head: [`of ${String(size)} entries`, 'p50 ms', 'p99 ms', 'most ms'], style: { head: [] } })
table.push(...rows, ['read all of it', (performance.now() - begin).toFixed(0), '', ''])
console.log(table.toString())
rmSync(values.path, { recursive: true, force: true })
