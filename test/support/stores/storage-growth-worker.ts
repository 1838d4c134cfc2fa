import { setTimeout as after } from 'node:timers/promises'
import { createAttemptLimiter } from '../../../core/storage/attempts.js'
import { collect } from '../../../stores/embedded/collector.js'
import { acquireEnvironment } from '../../../stores/embedded/environment.js'
import { expiredBefore } from '../../../stores/embedded/key.js'
import { openEmbedded } from '../../../stores/embedded/open-embedded.js'
import { refresh, sizeOf } from '../../../stores/embedded/tables.js'
import { Unavailable } from '../../../core/unavailable.js'

// A process that puts short-lived records of every kind into its store, round after round, each round after the last one's
// records have expired, and reports what that cost it.

/** A round as it was. Sizes are in bytes. */
export interface Round {
  readonly admitted: number
  readonly refused: number
  /** Of the records and their index when all were in, and after what had expired was collected. */
  readonly peak: number
  readonly rest: number
  /** Of the whole file. */
  readonly file: number
  readonly rss: number
  readonly heap: number
  /** Admitted ones that could not be used once, or twice. */
  readonly wronged: number
}

export interface Growth {
  readonly path: string
  readonly maxSizeMb: number
  readonly perRound: number
  readonly rounds: number
}

/** Seconds. A device code is kept for 600 s after its end at least, and lives for half of this. */
const lifetime = 1200
const lanes = 512

const [given = '{}'] = process.argv.slice(2)
const { path, maxSizeMb, perRound, rounds } = JSON.parse(given) as Growth
let now = Date.now()
const clock = () => now
const backend = await openEmbedded({ path, max_size_mb: maxSizeMb, clock })
const environment = await acquireEnvironment(path, maxSizeMb * 1024 * 1024)
const codes = backend.oneTime('codes')
const claims = backend.replayGuard('claims')
const devices = backend.deviceCodes('device_codes')
const families = backend.refreshFamilies('families')
const sessions = backend.records('sessions')
const attempts = createAttemptLimiter(backend.counters('counters'))
const policy = { free: 3, baseDelaySeconds: 1, maxDelaySeconds: lifetime, forgetAfterSeconds: lifetime }
const record = { grant: { clientId: 'web', subject: '248289761001', scope: ['openid', 'profile', 'email'] } }

/** Each admits one record; what is used once is used at the end of its round. */
const kinds: readonly ((id: string) => Promise<unknown>)[] = [
  (id) => codes.put(id, record, lifetime),
  (id) => claims.claim('client', id, lifetime),
  (id) => codes.put(id, record, lifetime).then(() => codes.redeem(id)),
  (id) => claims.claim('proof', id, lifetime),
  // Remembered for as long again as it lives.
  (id) => devices.start(id, { userCode: id, request: record, intervalSeconds: 5 }, lifetime / 2),
  (id) => families.start(id, { ...record, current: id, absoluteExpiry: now + lifetime * 1000 }, lifetime),
  (id) => sessions.put(id, record, { ttlSeconds: lifetime }),
  (id) => attempts.take('address', id, policy),
]

const inLanes = async (count: number, work: (index: number) => Promise<void>): Promise<void> => {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

/** The store collects in the background; nobody asks it to. */
const collected = async (): Promise<void> => {
  const isDue = () => refresh(environment) && environment.expiry.getKeysCount({ end: expiredBefore(now), limit: 1 }) > 0
  while (isDue()) await after(5)
}

for (let round = 0; round < rounds; round += 1) {
  const once: [kind: number, id: string][] = []
  let admitted = 0
  let refused = 0
  let wronged = 0
  await inLanes(perRound, async (index) => {
    const id = `${String(round)}-${String(index)}`
    const kind = index % kinds.length
    try {
      await kinds[kind]!(id)
      admitted += 1
      if (kind < 2) once.push([kind, id])
    } catch (error) {
      if (!(error instanceof Unavailable) || error.applied !== 'no') throw error
      refused += 1
    }
  })
  const peak = sizeOf(environment).used
  // Whatever pressed upon it, what was admitted is there until its last millisecond.
  now += lifetime * 1000 - 1
  while (await collect(environment, now));
  await inLanes(once.length, async (index) => {
    const [kind, id] = once[index]!
    if (kind === 1) {
      if (await claims.claim('client', id, lifetime)) wronged += 1
      return
    }
    const outcomes = [(await codes.redeem(id)).outcome, (await codes.redeem(id)).outcome]
    if (outcomes.join() !== 'won,replayed') wronged += 1
  })
  now += 1
  await collected()
  global.gc?.()
  const { used, free } = sizeOf(environment)
  const { rss, heapUsed } = process.memoryUsage()
  const result: Round = { admitted, refused, peak, rest: used, file: used + free, rss, heap: heapUsed, wronged }
  process.stdout.write(`${JSON.stringify(result)}\n`)
}
await environment.release()
await backend[Symbol.asyncDispose]()
