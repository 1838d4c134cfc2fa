import { generateKeyPairSync, sign as signWith } from 'node:crypto'
import type { Config } from '../../../config/schema.js'
import { checkPublicJwk } from '../../../core/jose/public-key-guard.js'
import { retention } from '../../../core/keys/lifecycle/open-ring.js'
import type { KeyPublication } from '../../../core/keys/lifecycle/publications.js'
import { KeyRefused, type KeyTags, type Signer, type SignerProvider } from '../../../core/keys/ports.js'
import { slotsOf } from '../../../core/keys/slots/expand-slots.js'
import { aliveKeys } from '../../../core/keys/slots/next-step.js'
import type { ReplicaReport, SlotRecord, SlotStep } from '../../../core/keys/slots/slot.js'
import type { RecordStore } from '../../../core/storage/ports.js'
import { Unavailable } from '../../../core/unavailable.js'
import { createRandom } from './random.js'
import { Replica, type Fate, type SimulatedWorld } from './simulated-replica.js'

const day = 86_400_000
const hour = 3_600_000

const order: readonly SlotStep[] = [
  ...(['planned', 'made', 'proved', 'published', 'signing', 'withdrawn', 'abandoned'] as const),
  ...(['disabled', 'destroyed'] as const),
]

interface BackendEntry {
  readonly ref: string
  name: string | undefined
  readonly tags: KeyTags | undefined
  readonly thumbprint: string
  readonly signer: Signer
}

/** A token of the simulated deployment. */
interface Token {
  readonly kid: string
  readonly thumbprint: string
  readonly at: number
}

/** A key set as a relying party fetched it, by `kid`. */
interface FetchedSet {
  readonly at: number
  readonly keys: ReadonlyMap<string, string>
}

export interface SimulationOptions {
  readonly seed: number
  readonly steps: number
  readonly config: Config
  /** Default: 2. */
  readonly replicas?: number
  /** The process that comes to the point with this number is killed there. */
  readonly killAt?: number
  /** Probabilities, each of a step or of a point. */
  readonly faults: {
    readonly kill: number
    readonly pause: number
    readonly store: number
    readonly backend: number
    readonly clock: number
    /** A replica reads the records, and cannot serve their keys. */
    readonly stuck: number
  }
}

/**
 * Two replicas, their store, one backend and their clock in one process. Every call of the store and of the backend is
 * a point at which the process can be killed or paused, before its effect or after it. Which happens follows from the
 * seed. Store and backend are doubles that can be away, and a backend can lose the name of a key.
 */
export class Simulation implements SimulatedWorld {
  readonly backend: BackendEntry[] = []
  readonly thumbprints = new Map<string, Set<string>>()
  tokens: Token[] = []
  fetched: FetchedSet[] = []
  kills = 0
  /** The points that processes have come to. */
  points = 0
  now = Date.parse('2026-01-01T00:00:00Z')
  passed = 0
  storeAway = false
  backendAway = false
  calm = false
  readonly #random: () => number
  readonly #options: SimulationOptions
  readonly #slots = new Map<string, SlotRecord>()
  readonly #reports = new Map<string, ReplicaReport>()
  readonly publications = new Map<string, KeyPublication>()
  readonly #replicas: Replica[]
  readonly #seen = new Map<string, { readonly ref: string | undefined; readonly step: SlotStep }>()
  #made = 0

  constructor(options: SimulationOptions) {
    this.#options = options
    this.#random = createRandom(options.seed)
    this.#replicas = Array.from({ length: options.replicas ?? 2 }, () => new Replica(this))
  }

  get config(): Config {
    return this.#options.config
  }

  get records(): ReadonlyMap<string, SlotRecord> {
    return this.#slots
  }

  get replicas(): readonly Replica[] {
    return this.#replicas
  }

  chance(probability: number): boolean {
    return !this.calm && this.#random() < probability
  }

  pick(most: number): number {
    return Math.floor(this.#random() * most)
  }

  fate(): Fate {
    if (++this.points === this.#options.killAt) return 'is killed'
    if (this.chance(this.#options.faults.kill)) return 'is killed'
    return this.chance(this.#options.faults.pause) ? 'is paused' : 'goes on'
  }

  store<T>(replica: Replica, records: Map<string, T>): RecordStore<T> {
    const call = <R>(effect: () => R): Promise<R> =>
      replica.point(() => {
        if (this.storeAway) throw new Unavailable('storage.records', 'no', 'the store is away')
        return effect()
      })
    return {
      find: (id) => call(() => structuredClone(records.get(id))),
      put: (id, record, options = {}) =>
        call(() => {
          if (options.onlyIfAbsent === true && records.has(id)) return false
          records.set(id, structuredClone(record))
          return true
        }),
      remove: (id) => call(() => records.delete(id)),
      update: (id, decide) =>
        call(() => {
          const { result, write } = decide(structuredClone(records.get(id)))
          if (write === null) records.delete(id)
          else if (write !== undefined) records.set(id, structuredClone(write.record))
          return result
        }),
      list: (after, limit) =>
        call(() =>
          [...records]
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .filter(([id]) => after === undefined || id > after)
            .slice(0, limit)
            .map(([id, record]) => ({ id, record: structuredClone(record) })),
        ),
    }
  }

  slotStore = (replica: Replica) => this.store(replica, this.#slots)
  reportStore = (replica: Replica) => this.store(replica, this.#reports)

  provider(replica: Replica): SignerProvider {
    const call = <R>(effect: () => R): Promise<R> =>
      replica.point(() => {
        if (this.backendAway) throw new Unavailable('signers.hsm', 'unknown', 'the backend is away')
        return effect()
      })
    const named = (name: string, tags: KeyTags | undefined) =>
      this.backend.filter((key) => key.name === name || (tags !== undefined && key.tags?.kid === tags.kid))
    return {
      open: (ref, alg) =>
        call(() => {
          const found = this.backend.find((key) => key.ref === ref)
          if (found === undefined) throw new KeyRefused('no such key')
          if (found.signer.alg !== alg) throw new KeyRefused('another algorithm')
          return found.signer
        }),
      ping: () => call(() => undefined),
      create: (name, alg, _signal, tags) =>
        call(() => {
          if (this.backend.some((key) => key.name === name)) throw new KeyRefused(`${name} already exists`)
          const { privateKey, publicKey } = generateKeyPairSync('ed25519')
          const ref = `ref-${String(++this.#made)}`
          // Half a creation: the backend has the key, and it has no name yet.
          const isHalf = this.chance(0.1)
          const signer: Signer = {
            alg,
            publicJwk: publicKey.export({ format: 'jwk' }) as Signer['publicJwk'],
            sign: (message) => Promise.resolve(signWith(null, message, privateKey)),
          }
          const { thumbprint } = checkPublicJwk(signer.publicJwk, ['EdDSA'])
          this.backend.push({ ref, name: isHalf ? undefined : name, tags, thumbprint, signer })
          if (isHalf) throw new Unavailable('signers.hsm', 'unknown', 'the answer was lost')
          return ref
        }),
      find: (name, _signal, tags) =>
        call(() =>
          named(name, tags).map((key) => {
            key.name = name
            return key.ref
          }),
        ),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  }

  /** What a relying party gets from one of the replicas that serve. */
  fetch(): void {
    const serving = this.#replicas.filter(({ serves }) => serves)
    const replica = serving[this.pick(serving.length)]
    const keys = replica?.keySet()
    // Nobody may cache an empty key set, or an old one.
    if (keys !== undefined && keys.size > 0 && replica?.isFresh === true) this.fetched.push({ at: this.now, keys })
  }

  /** Throws when one of the promises of slots does not hold. */
  check(): void {
    const { config, now } = this
    const serving = this.#replicas.filter(({ serves, isPaused, isFresh }) => serves && !isPaused && isFresh)
    // A replica without a key is not ready, and gets no requests.
    const sets = serving.map((replica) => replica.keySet()).filter(({ size }) => size > 0)
    // One that has slept may sign before it looks.
    for (const replica of this.#replicas.filter(({ serves, isPaused }) => serves && !isPaused)) {
      const signed = replica.signs()
      if (signed === undefined) continue
      this.tokens.push({ ...signed, at: now })
      for (const keys of sets)
        if (keys.get(signed.kid) !== signed.thumbprint)
          throw new Error(`${signed.kid} signs and is not published everywhere`)
      const cached = this.fetched.filter(({ at }) => at <= now && now - at < hour)
      for (const { at, keys } of cached)
        if (!keys.has(signed.kid))
          throw new Error(`${signed.kid} signs, and a key set of ${String((now - at) / 1000)} s ago lacks it`)
    }
    const lives = retention(config, ['access_token', 'id_token']) * 1000
    for (const keys of sets)
      for (const { kid, thumbprint, at } of this.tokens)
        if (now < at + lives && now >= at && keys.get(kid) !== thumbprint)
          throw new Error(`a token of ${kid} lives and its key is not published`)
    this.#checkProgress()
    for (const [kid, found] of this.thumbprints)
      if (found.size > 1) throw new Error(`${kid} has named ${String(found.size)} keys`)
    for (const record of this.#slots.values()) {
      const numbers = record.keys.map(({ number }) => number)
      if (new Set(numbers).size < numbers.length) throw new Error('a number was used twice')
      const slot = slotsOf(config).find(({ slot: name }) => name === record.slot)
      const alive = aliveKeys(record, { now, retention: (purposes) => retention(config, purposes) * 1000 })
      // While the clock is a year ahead, keys seem gone that are not.
      const isTimeKnown = this.#options.faults.clock === 0
      if (isTimeKnown && slot !== undefined && alive.length > slot.rotate.max_keys)
        throw new Error('there are too many keys')
    }
  }

  /** Throws when a key has another `ref` than before, or an earlier step. */
  #checkProgress(): void {
    for (const { slot, keys } of this.#slots.values())
      for (const { kid, ref, step } of keys) {
        const id = `${slot} ${kid}`
        const before = this.#seen.get(id)
        if (before?.ref !== undefined && before.ref !== ref) throw new Error(`${kid} has become another key`)
        if (order.indexOf(step) < order.indexOf(before?.step ?? 'planned')) throw new Error(`${kid} has gone back`)
        this.#seen.set(id, { ref, step })
      }
  }

  /** Keys of the backend that no record knows. */
  strays(): readonly BackendEntry[] {
    const known = new Set([...this.#slots.values()].flatMap(({ keys }) => keys.map(({ ref }) => ref)))
    return this.backend.filter(({ ref }) => !known.has(ref))
  }

  async run(): Promise<void> {
    const { steps, faults } = this.#options
    for (let step = 0; step < steps; step++) {
      if (this.chance(faults.store)) this.storeAway = !this.storeAway
      if (this.chance(faults.backend)) this.backendAway = !this.backendAway
      if (faults.stuck > 0) for (const replica of this.#replicas) replica.isStuck = this.chance(faults.stuck)
      if (this.chance(faults.clock)) this.now += (this.pick(2) === 0 ? 1 : -1) * 365 * day
      await this.step()
    }
    this.calm = true
    this.storeAway = false
    this.backendAway = false
    for (const replica of this.#replicas) replica.resume()
  }

  async step(): Promise<void> {
    const elapsed = this.chance(0.3) ? this.pick(2 * day) : 5000
    this.now += elapsed
    this.passed += elapsed
    // After a break, nobody acts for a minute.
    for (let round = 0; round < 5; round++) {
      for (const replica of this.#replicas) await replica.turn()
      this.now += 18_000
      this.passed += 18_000
    }
    this.tokens = this.tokens.filter(({ at }) => at > this.now - day)
    this.fetched = this.fetched.filter(({ at }) => at > this.now - hour)
    this.fetch()
    this.check()
  }
}
