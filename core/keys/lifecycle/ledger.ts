import { ConfigurationError, type Problem } from '../../../config/problems.js'
import type { Config } from '../../../config/schema.js'
import type { Clock } from '../../clock.js'
import { stateAt } from '../key-states.js'
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

/** Milliseconds. The clock changes states, and an outage may put off a publication: both are found within this time. */
const intervalMs = 1000
/** Milliseconds: what a replica that started with another configuration took for withdrawn is set right within this time. */
const asWithdrawnMs = 60_000

/** The keys of one reading of the configuration. */
export interface KeysInForce {
  readonly checked: { readonly config: Config }
  readonly inventory: KeyInventory
  readonly ring: KeyRing
}

export interface KeyLedgerOptions {
  /** Where publications are remembered. */
  readonly store: RecordStore<KeyPublication>
  /** By `kid`; what is published later is added. */
  readonly publications: Map<string, KeyPublication>
  readonly clock: Clock
  readonly audit: AuditLog
  readonly log: Log
}

/** Remembers what is published, and tells the audit log what becomes of the keys. */
export interface KeyLedger {
  /** Remembers the keys that are published from now on. Throws `ConfigurationError`, `Unavailable`. */
  publish(keys: KeysInForce): Promise<void>
  /**
   * Remembers as withdrawn what was published before this start and is not in the inventory any more; `tell` tells it.
   * Returns the keys of which tokens live. Throws `Unavailable`.
   */
  withdrawMissing(): Promise<readonly Problem[]>
  /** Tells what has changed since the last call. Throws `Unavailable`; then the next call tells it. */
  tell(keys: KeysInForce): Promise<void>
  /** Does both, again and again. Returns what ends it. */
  watch(serving: () => KeysInForce): () => Promise<void>
}

/** What is remembered of the keys of `first` is no news. */
export const createKeyLedger = (options: KeyLedgerOptions, first: KeysInForce): KeyLedger => {
  const { store, publications, clock, audit, log } = options
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
    // A key that comes at the end of its life has not ended now.
    const change = (before === undefined ? state === 'active' : before !== state) ? events[state] : undefined
    const names = [published.has(kid) ? ('key.published' as const) : undefined, change]
    return names.flatMap((event) => (event === undefined ? [] : [{ event, kid, alg, signer }]))
  }

  const publish = async ({ inventory, ring }: KeysInForce): Promise<void> => {
    for (const kid of await recordPublications(store, inventory, ring, publications, clock())) published.add(kid)
  }

  const tell = async ({ ring }: KeysInForce): Promise<void> => {
    const states = ring.states()
    const now = new Map(states.map((key) => [key.kid, key]))
    const taken = [...last.values()].filter(({ kid, state }) => !now.has(kid) && state !== 'gone')
    const emitted = [...states.flatMap(eventsOf), ...taken.flatMap((key) => eventsOf({ ...key, state: 'gone' }))]
    if (emitted.length > 0) await audit.record(...emitted)
    last = now
    published.clear()
  }

  const withdrawMissing = async (): Promise<readonly Problem[]> => {
    const early = findEarlyRemovals({ config, keys: before }, { config, keys: first.inventory.keys }, clock())
    const kids = [...publications].flatMap(([kid, { withdrawn }]) =>
      withdrawn !== undefined || configured.has(kid) ? [] : [kid],
    )
    await recordWithdrawals(store, publications, kids, clock())
    return early
  }

  return {
    publish,
    withdrawMissing,
    tell,
    watch(serving) {
      let lookedAt = clock()
      const isPublished = (kid: string): boolean => serving().ring.publishedKey(kid) !== undefined
      const lookForWithdrawn = async (): Promise<void> => {
        // A clock may be set back.
        if (Math.abs(clock() - lookedAt) < asWithdrawnMs) return
        await recordStillPublished(store, [...publications.keys()].filter(isPublished), isPublished)
        lookedAt = clock()
      }
      let failing = false
      let busy: Promise<void> | undefined
      const look = async (): Promise<void> => {
        try {
          await publish(serving())
          await tell(serving())
          await lookForWithdrawn()
          failing = false
        } catch (error) {
          // Readiness reports outages; once is enough here.
          if (failing) return
          failing = true
          const expected = error instanceof Unavailable || error instanceof ConfigurationError
          log.error('Changes to keys could not be recorded', {}, expected ? undefined : error)
        }
      }
      const timer = setInterval(() => {
        busy ??= look().finally(() => (busy = undefined))
      }, intervalMs).unref()
      return async () => {
        clearInterval(timer)
        await busy
      }
    },
  }
}
