import { randomBytes, randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { collections } from '../core/collections/collections.js'
import { parseClientMetadata } from '../core/oauth/clients/client-metadata.js'
import type { Client } from '../core/oauth/clients/client.js'
import { newRefreshToken } from '../core/oauth/grants/refresh-token.js'
import type { EphemeralBackend, StorageBackend } from '../core/storage/ports.js'
import { median } from './compete.js'
import { apiScope, confidential } from './contestant.js'

const idleTtl = 14 * 86_400
const now = Date.now()

/** The number of each, in digits. */
export interface Counts {
  readonly families: string
  readonly replays: string
  readonly clients: string
}

export const counts = {
  families: { type: 'string', default: '1000000' },
  replays: { type: 'string', default: '5000000' },
  clients: { type: 'string', default: '1000000' },
  seconds: { type: 'string', default: '200' },
  samples: { type: 'string', default: '2000' },
} as const

export interface Kind {
  readonly name: string
  readonly count: number
  fill(): Promise<unknown>
  /** The operation that a request waits for, on an existing entry. */
  operate(): Promise<unknown>
}

interface Stores {
  readonly records: StorageBackend | undefined
  readonly ephemeral: EphemeralBackend
}

/** The kinds of entries that fill a store. */
export const kindsOf = ({ records, ephemeral }: Stores, values: Counts): readonly Kind[] => {
  const proofs = ephemeral.replayGuard('dpop_proofs')
  const claim = () => proofs.claim('thumbprint-of-a-key', randomBytes(32).toString('base64url'), 86_400, now)
  const replays: Kind = { name: 'replay entries', count: Number(values.replays), fill: claim, operate: claim }
  if (records === undefined) return [replays]

  const { families, clients } = collections({ records, ephemeral, [Symbol.asyncDispose]: () => Promise.resolve() })
  const started: { readonly family: string; hash: string }[] = []
  const grant = () => ({
    grantId: randomUUID(),
    clientId: 'app',
    subject: randomUUID(),
    scope: ['openid', 'offline_access', 'api:read'],
    resource: ['https://api.bench.example'],
    authentication: { auth_time: Math.floor(now / 1000), amr: ['pwd'], nonce: randomUUID(), sid: randomUUID() },
  })
  const start = async () => {
    const { family, hash } = newRefreshToken()
    await families.start(family, { grant: grant(), current: hash, absoluteExpiry: now + 7_776_000_000 }, idleTtl)
    if (started.length < 10_000) started.push({ family, hash })
  }
  const rotate = async () => {
    const one = started[Math.floor(Math.random() * started.length)]
    if (one === undefined) throw new Error('No family')
    const successor = { hash: randomBytes(32).toString('base64url'), salt: randomBytes(16).toString('base64url') }
    const { outcome } = await families.rotate(one.family, { presented: one.hash, successor, idleTtlSeconds: idleTtl })
    if (outcome !== 'won') throw new Error(`A rotation was ${outcome}`)
    one.hash = successor.hash
  }

  const metadata = { client_secret: confidential.secret, grant_types: ['client_credentials'], scope: apiScope }
  const client = parseClientMetadata({ client_id: 'client', response_types: [], ...metadata }, [apiScope])
    .client as Client
  let registered = 0
  const register = () => {
    const client_id = `client-${String(registered++)}`
    return clients.put(client_id, { ...client, client_id })
  }
  const look = async () => {
    if (!(await clients.find(`client-${String(Math.floor(Math.random() * registered))}`))) throw new Error('No client')
  }
  return [
    { name: 'refresh families', count: Number(values.families), fill: start, operate: rotate },
    { name: 'clients', count: Number(values.clients), fill: register, operate: look },
    replays,
  ]
}

export interface Times {
  readonly p50: number
  readonly p99: number
}

/** Measures in turn, so that other load on the machine affects both. Microseconds. */
export const timeBoth = async (
  operations: readonly (() => Promise<unknown>)[],
  samples: number,
): Promise<readonly Times[]> => {
  const took = operations.map((): number[] => [])
  for (let index = 0; index < samples; index++) {
    for (const [at, operate] of operations.entries()) {
      const start = performance.now()
      await operate()
      took[at]?.push((performance.now() - start) * 1000)
    }
  }
  return took.map((all) => ({ p50: median(all), p99: all.sort((x, y) => x - y)[Math.floor(samples * 0.99)] ?? NaN }))
}

const concurrency = 512

/** Returns how many exist when the time is over or all were created. */
export const fill = async (make: () => Promise<unknown>, count: number, until: number): Promise<number> => {
  let made = 0
  while (made < count && performance.now() < until) {
    const batch = Math.min(concurrency, count - made)
    await Promise.all(Array.from({ length: batch }, make))
    made += batch
  }
  return made
}
