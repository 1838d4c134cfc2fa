import { ConfigurationError, type Problem } from '../../../config/problems.js'
import type { Config } from '../../../config/schema.js'
import type { Clock } from '../../clock.js'
import { stateAt } from '../key-states.js'
import type { SupervisedKeyRing } from '../key-ring.js'
import type { KeyRing, KeyState } from '../ports.js'
import type { AuditEvent, AuditEventName, AuditLog } from '../../observe/audit.js'
import type { Log } from '../../observe/log.js'
import type { RecordStore } from '../../storage/ports.js'
import { Unavailable } from '../../unavailable.js'
import {
  recordPublications,
  recordStillPublished,
  recordWithdrawals,
  type KeyInventory,
  type KeyPublication,
} from './publications.js'
import { lifetimeOf } from './open-ring.js'
import { findEarlyRemovals, findLastInventory } from './removals.js'

type States = ReturnType<KeyRing['states']>

const events: Readonly<Partial<Record<KeyState, AuditEventName>>> = {
  active: 'key.activated',
  retired: 'key.retired',
  gone: 'key.withdrawn',
}

/** Milliseconds. State changes by the clock, and publications delayed by an outage, are found within this time. */
const intervalMs = 1000
/** Milliseconds within which keys that a replica with another configuration marked as withdrawn are corrected. */
const asWithdrawnMs = 60_000

/** The keys of one loaded configuration. */
export interface KeysInForce {
  readonly checked: { readonly config: Config }
  inventory(): KeyInventory
  readonly ring: KeyRing & Pick<SupervisedKeyRing, 'find' | 'admit'>
}

/** When keys are published: at a start, by a reload, when the keys of slots have changed, and repeatedly. */
export type Occasion = 'start' | 'reload' | 'slots' | 'watch'

/** The public log of keys, where a deployment has one. */
export interface FollowingLog {
  /**
   * Logs what has become of these keys, and then lets the ring publish those that were withheld. Throws `Unavailable`,
   * also when the log cannot be signed; what can be logged then is.
   */
  follow(keys: KeysInForce, occasion: Occasion): Promise<void>
  /** The next call of `follow` logs that these keys are no longer published. */
  removed(keys: readonly { readonly kid: string; readonly isGone: boolean }[]): void
}

export interface KeyLedgerOptions {
  /** The store of publications. */
  readonly store: RecordStore<KeyPublication>
  /** By `kid`. Later publications are added. */
  readonly publications: Map<string, KeyPublication>
  readonly clock: Clock
  readonly audit: AuditLog
  readonly log: Log
  readonly keyLog?: FollowingLog | undefined
}

/** Remembers what is published and records in the audit log what happens to the keys. */
export interface KeyLedger {
  /**
   * Remembers the keys that are published from now on. Throws `ConfigurationError`, `Unavailable`. When the key
   * log cannot be signed, a reload with keys that it lacks fails; otherwise they are published later.
   */
  publish(keys: KeysInForce, occasion: Occasion): Promise<void>
  /** Remembers that these keys are no longer published. Throws `Unavailable`. */
  withdraw(kids: readonly string[]): Promise<void>
  /**
   * Marks as withdrawn what was published before this start and is no longer in the inventory; `recordChanges`
   * records it. Returns the keys that still have live tokens. Throws `Unavailable`.
   */
  withdrawMissing(): Promise<readonly Problem[]>
  /** Records what has changed since the last call. Throws `Unavailable`, and then the next call records it. */
  recordChanges(keys: KeysInForce): Promise<void>
  /** Does both repeatedly. Returns a function that stops it. */
  watch(serving: () => KeysInForce): () => Promise<void>
}

/** Publishes and records every second what has changed. Returns a function that stops it. */
const watchKeys = (
  { store, publications, clock, log }: KeyLedgerOptions,
  { publish, recordChanges }: Pick<KeyLedger, 'publish' | 'recordChanges'>,
  serving: () => KeysInForce,
): (() => Promise<void>) => {
  let checkedAt = clock()
  const isPublished = (kid: string): boolean => serving().ring.publishedKey(kid) !== undefined
  const renewPublications = async (): Promise<void> => {
    // The clock may be set back.
    if (Math.abs(clock() - checkedAt) < asWithdrawnMs) return
    await recordStillPublished(store, [...publications.keys()].filter(isPublished), isPublished)
    checkedAt = clock()
  }
  let failing = false
  let busy: Promise<void> | undefined
  const update = async (): Promise<void> => {
    try {
      await publish(serving(), 'watch')
      await recordChanges(serving())
      await renewPublications()
      failing = false
    } catch (error) {
      // Readiness reports outages, so one log line is enough here.
      if (failing) return
      failing = true
      const expected = error instanceof Unavailable || error instanceof ConfigurationError
      log.error('Changes to keys could not be recorded', {}, expected ? undefined : error)
    }
  }
  const timer = setInterval(() => {
    busy ??= update().finally(() => (busy = undefined))
  }, intervalMs).unref()
  return async () => {
    clearInterval(timer)
    await busy
  }
}

/** What is already remembered about the keys of `first` is not reported as a change. */
export const createKeyLedger = (options: KeyLedgerOptions, first: KeysInForce): KeyLedger => {
  const { store, publications, clock, audit, log, keyLog } = options
  const { config } = first.checked
  const configured = new Set(first.ring.states().map(({ kid }) => kid))
  const before = findLastInventory(publications)
  const missing = before.flatMap(({ kid, alg, signer, purposes, ...times }): States =>
    configured.has(kid)
      ? []
      : [{ kid, alg, signer, purposes, state: stateAt(lifetimeOf(config, { purposes, ...times }), clock()) }],
  )
  const known = first.ring.states().filter(({ kid }) => publications.has(kid))
  let last = new Map([...missing, ...known].map((key) => [key.kid, key]))
  const published = new Set<string>()

  const eventsOf = ({ kid, alg, signer, state }: States[number]): readonly AuditEvent[] => {
    const before = last.get(kid)?.state
    // A key that is first seen after the end of its life has not ended just now.
    const change = (before === undefined ? state === 'active' : before !== state) ? events[state] : undefined
    const names = [published.has(kid) ? ('key.published' as const) : undefined, change]
    return names.flatMap((event) => (event === undefined ? [] : [{ event, kid, alg, signer }]))
  }

  /** Returns why the key log does not have all of these keys. */
  const logKeys = async (keys: KeysInForce, occasion: Occasion): Promise<Unavailable | undefined> => {
    try {
      await keyLog?.follow(keys, occasion)
      return undefined
    } catch (error) {
      if (error instanceof Unavailable) return error
      throw error
    }
  }

  const publish = async (keys: KeysInForce, occasion: Occasion): Promise<void> => {
    const { inventory, ring } = keys
    // A key is in the log before anyone can see it elsewhere.
    const delay = await logKeys(keys, occasion)
    for (const kid of await recordPublications(store, inventory(), ring, publications, clock())) published.add(kid)
    if (delay === undefined) return
    const isWithheld = ring.states().some(({ kid }) => ring.find(kid)?.isWithheld === true)
    if (occasion === 'watch' || (occasion === 'reload' && isWithheld)) throw delay
    log.warn('The key log is behind', { reason: `${delay.component}: ${delay.message}` })
  }

  const withdraw = async (kids: readonly string[]): Promise<void> => {
    keyLog?.removed(kids.map((kid) => ({ kid, isGone: last.get(kid)?.state === 'gone' })))
    await recordWithdrawals(store, publications, kids, clock())
  }

  const recordChanges = async ({ ring }: KeysInForce): Promise<void> => {
    const states = ring.states()
    const now = new Map(states.map((key) => [key.kid, key]))
    const taken = [...last.values()].filter(({ kid, state }) => !now.has(kid) && state !== 'gone')
    const emitted = [...states.flatMap(eventsOf), ...taken.flatMap((key) => eventsOf({ ...key, state: 'gone' }))]
    if (emitted.length > 0) await audit.record(...emitted)
    last = now
    published.clear()
  }

  const withdrawMissing = async (): Promise<readonly Problem[]> => {
    const early = findEarlyRemovals({ config, keys: before }, { config, keys: first.inventory().keys }, clock())
    const kids = [...publications].flatMap(([kid, { withdrawn }]) =>
      withdrawn !== undefined || configured.has(kid) ? [] : [kid],
    )
    await withdraw(kids)
    return early
  }

  return {
    publish,
    withdraw,
    withdrawMissing,
    recordChanges,
    watch: (serving) => watchKeys(options, { publish, recordChanges }, serving),
  }
}
