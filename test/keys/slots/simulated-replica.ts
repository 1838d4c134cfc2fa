import { ConfigurationError } from '../../../config/problems.js'
import type { Config } from '../../../config/schema.js'
import { createSlotSource, type SlotSource } from '../../../core/host/slot-source.js'
import { createSlotLook } from '../../../core/host/watch-slots.js'
import { retention } from '../../../core/keys/lifecycle/open-ring.js'
import type { KeyPublication } from '../../../core/keys/lifecycle/publications.js'
import type { SignerProvider } from '../../../core/keys/ports.js'
import type { InventoryEntry } from '../../../core/keys/lifecycle/inventory.js'
import { expandSlots } from '../../../core/keys/slots/expand-slots.js'
import type { ReplicaReport, SlotRecord } from '../../../core/keys/slots/slot.js'
import { noLog } from '../../../core/observe/log.js'
import type { RecordStore } from '../../../core/storage/ports.js'
import { Unavailable } from '../../../core/unavailable.js'

/** What happens at one point of a replica, before or after an effect. */
export type Fate = 'goes on' | 'is killed' | 'is paused'

const entriesOf = (generation: object): unknown => Reflect.get(generation, 'entries')

/** What a replica shares with the others, and what decides about it. */
export interface SimulatedWorld {
  readonly config: Config
  readonly now: number
  readonly passed: number
  readonly backendAway: boolean
  readonly calm: boolean
  readonly backend: readonly { readonly ref: string; readonly thumbprint: string }[]
  readonly publications: Map<string, KeyPublication>
  /** Every key that was published as a `kid`. */
  readonly thumbprints: Map<string, Set<string>>
  kills: number
  fate(): Fate
  chance(probability: number): boolean
  provider(replica: Replica): SignerProvider
  slotStore(replica: Replica): RecordStore<SlotRecord>
  reportStore(replica: Replica): RecordStore<ReplicaReport>
}

/** One process. It is started again when it was killed. */
export class Replica {
  readonly #world: SimulatedWorld
  entries: readonly InventoryEntry[] = []
  serves = false
  /** Whether it reads the records, but cannot serve their keys. */
  isStuck = false
  #source: SlotSource | undefined
  #look: (() => Promise<void>) | undefined
  #busy: Promise<void> | undefined
  /** The calls under way that are paused. */
  #paused: (() => void)[] = []
  /** Called when the process stops at a pause, or dies. */
  #stopped: (() => void) | undefined
  #life = 0

  constructor(world: SimulatedWorld) {
    this.#world = world
  }

  get isFresh(): boolean {
    return this.#source?.isFresh() === true
  }

  get isPaused(): boolean {
    return this.#paused.length > 0
  }

  resume(): void {
    for (const go of this.#paused.splice(0)) go()
  }

  /** Makes one call, before or after which the process may end or stop for a while. */
  async point<R>(effect: () => R): Promise<R> {
    const life = this.#life
    await this.#meet(life)
    const result = effect()
    await this.#meet(life)
    return result
  }

  async #meet(life: number): Promise<void> {
    // What a killed process had under way does nothing any more.
    if (life !== this.#life) await new Promise<never>(() => undefined)
    const fate = this.#world.fate()
    if (fate === 'is killed') {
      this.#kill()
      await new Promise<never>(() => undefined)
    }
    if (fate === 'is paused')
      await new Promise<void>((resolve) => {
        this.#paused.push(resolve)
        this.#stopped?.()
      })
    if (life !== this.#life) await new Promise<never>(() => undefined)
  }

  #kill(): void {
    this.#life++
    this.#world.kills++
    this.#source = undefined
    this.#look = undefined
    this.#busy = undefined
    this.serves = false
    this.#paused = []
    this.#stopped?.()
  }

  /** Lets the process work until it is idle, paused or dead. */
  async turn(): Promise<void> {
    if (this.isPaused) {
      if (this.#world.chance(0.7)) return
      this.resume()
    }
    const stopped = new Promise<void>((resolve) => {
      this.#stopped = resolve
    })
    // Later, so that a process that dies at once leaves nothing to wait for.
    this.#busy ??= Promise.resolve().then(() => this.#work())
    const busy = this.#busy
    await Promise.race([stopped, busy.then(() => (this.#busy = undefined))])
  }

  async #work(): Promise<void> {
    const world = this.#world
    if (this.#look !== undefined) return this.#look()
    const { config, publications } = world
    const providers = new Map([['hsm', world.provider(this)]])
    const source = createSlotSource({
      clock: () => world.now,
      monotonic: () => world.passed,
      sleep: () => Promise.reject(new Unavailable('keys', 'no', 'the start gives up')),
      keySlots: world.slotStore(this),
      replicas: world.reportStore(this),
      audit: { record: () => Promise.resolve() },
      log: noLog,
      publications,
    })
    const refreshKeys = (): Promise<void> => {
      if (this.isStuck && !world.calm)
        return Promise.reject(new ConfigurationError([{ path: 'keys', message: 'a key is refused' }]))
      this.entries = expandSlots(config.keys, source.records)
      for (const { kid } of this.entries) this.#publish(kid)
      return Promise.resolve()
    }
    try {
      await source.prepare(config, providers)
      await refreshKeys()
      source.followed()
    } catch (error) {
      if (error instanceof Unavailable || error instanceof ConfigurationError) return
      throw error
    }
    this.#source = source
    this.serves = true
    const ring = {
      publishedKey: (kid: string) => (this.keySet().has(kid) ? {} : undefined),
      find: () => ({ trust: world.backendAway ? 'unproved' : 'proved' }),
    }
    let generation: object | undefined
    const serving = () => {
      // Another object only where a refresh has replaced it, as in the host.
      if (generation === undefined || !Object.is(entriesOf(generation), this.entries))
        generation = { checked: { config }, providers, entries: this.entries, ring }
      return generation as never
    }
    this.#look = createSlotLook({
      slots: source,
      serving,
      refreshKeys,
      audit: { record: () => Promise.resolve() },
      log: noLog,
    })
  }

  #publish(kid: string): void {
    const { publications, now } = this.#world
    const thumbprint = this.#thumbprint(kid)
    if (thumbprint === undefined) return
    const known = this.#world.thumbprints.get(kid) ?? new Set()
    this.#world.thumbprints.set(kid, known.add(thumbprint))
    if (!publications.has(kid)) publications.set(kid, { thumbprint, first_published: now, may_sign_from: now })
  }

  #thumbprint(kid: string): string | undefined {
    const entry = this.entries.find((one) => one.kid === kid)
    return this.#world.backend.find(({ ref }) => ref === entry?.ref)?.thumbprint
  }

  /** The thumbprints of what `/jwks.json` has, by `kid`. */
  keySet(): ReadonlyMap<string, string> {
    const { now, config } = this.#world
    return new Map(
      this.entries.flatMap(({ kid, purposes, not_after = Infinity }) => {
        const thumbprint = this.#thumbprint(kid)
        const isGone = now >= not_after + retention(config, purposes) * 1000
        return thumbprint === undefined || isGone ? [] : [[kid, thumbprint]]
      }),
    )
  }

  /** The key that signs here now. */
  signs(): { readonly kid: string; readonly thumbprint: string } | undefined {
    const { now } = this.#world
    if (this.#source?.isRecent() !== true) return undefined
    const entry = this.entries.find(({ not_before = 0, not_after = Infinity }) => now >= not_before && now < not_after)
    const thumbprint = entry && this.#thumbprint(entry.kid)
    return entry && thumbprint !== undefined ? { kid: entry.kid, thumbprint } : undefined
  }
}
