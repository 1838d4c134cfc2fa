import { performance } from 'node:perf_hooks'
import type { Clock } from '../../clock.js'
import { BadJwk } from '../../jose/public-key-guard.js'
import type { RecordStore } from '../../storage/ports.js'
import { Unavailable } from '../../unavailable.js'
import { KeyRefused } from '../ports.js'
import { nextStep, signingKey, type NextStep, type Situation } from './next-step.js'
import { newSlotRecord, withoutDelay, type ReplicaReport, type Slot, type SlotRecord } from './slot.js'
import { LeaseLost, releaseLease, takeLease, writeStep, type Lease } from './slot-store.js'
import { SlotStopped, takeStep, type StepOptions } from './take-step.js'

/** Milliseconds between attempts, doubled up to the longest. */
const retryMs = { first: 300_000, longest: 3_600_000 } as const
/** Steps of one slot in one look; the rest waits for the next look. */
const mostSteps = 20
/** Milliseconds by which clocks may differ. */
const clockToleranceMs = 60_000
/** Milliseconds for which nothing is done after the clock has jumped, because it may jump back. */
const settleMs = 600_000

/** What became of a slot in one look. */
export interface SlotNews {
  readonly slot: string
  readonly step?: NextStep
  /** Present when an attempt failed. */
  readonly delay?: string
}

export interface SlotWorkerOptions extends Omit<StepOptions, 'write' | 'now'> {
  readonly store: RecordStore<SlotRecord>
  /** Names this process for as long as it runs. */
  readonly holder: string
  readonly clock: Clock
  /** Milliseconds that the clock of the system does not move. */
  readonly monotonic?: () => number
  readonly situation: (slot: Slot, replicas: readonly ReplicaReport[]) => Situation
  /** Called before each step and after each failed attempt. A step that cannot be reported is not taken. */
  readonly report: (news: SlotNews) => Promise<void>
}

export interface SlotWorker {
  /**
   * Takes every step that is due for `slots`. Without `patient`, an attempt is made although an earlier one has failed
   * a moment ago, as at a start. Returns the records that were changed, and why nothing was done if the clock is in
   * doubt. Throws `Unavailable` when the store is away.
   */
  work(
    slots: readonly Slot[],
    records: ReadonlyMap<string, SlotRecord>,
    replicas: readonly ReplicaReport[],
    patient?: boolean,
  ): Promise<{ readonly changed: ReadonlyMap<string, SlotRecord>; readonly doubt?: string }>
}

const reasonOf = (error: unknown): string =>
  error instanceof KeyRefused || error instanceof BadJwk || error instanceof SlotStopped || error instanceof Unavailable
    ? error.message
    : 'the signer failed'

const withDelay = (record: SlotRecord, error: unknown, now: number): SlotRecord => {
  const failures = (record.delay?.failures ?? 0) + 1
  const wait = Math.min(retryMs.longest, retryMs.first * 2 ** (failures - 1))
  const refused = !(error instanceof Unavailable)
  const delay = { reason: reasonOf(error), since: record.delay?.since ?? now, failures, refused }
  return { ...record, delay: error instanceof SlotStopped ? delay : { ...delay, retry_at: now + wait } }
}

/** Says why the clock cannot be relied on: it jumped between two looks, or other replicas have another time. */
const watchClock = ({ clock, holder, monotonic = () => performance.now() }: SlotWorkerOptions) => {
  let before = { wall: clock(), passed: monotonic() }
  let trustedFrom = -Infinity
  const last = new Map<string, number>()
  return (replicas: readonly ReplicaReport[]): string | undefined => {
    const now = { wall: clock(), passed: monotonic() }
    const jump = now.wall - before.wall - (now.passed - before.passed)
    before = now
    if (Math.abs(jump) > clockToleranceMs) trustedFrom = now.passed + settleMs
    // An old report is that of a process that has ended, unless it still changes.
    const other = replicas.find(
      ({ replica, at }) =>
        replica !== holder &&
        last.has(replica) &&
        last.get(replica) !== at &&
        Math.abs(now.wall - at) > clockToleranceMs,
    )
    for (const { replica, at } of replicas) last.set(replica, at)
    if (other !== undefined) return `the clock differs from that of ${other.host} (process ${String(other.pid)})`
    return now.passed < trustedFrom ? 'the clock has jumped; slots wait ten minutes' : undefined
  }
}

export const createSlotWorker = (options: SlotWorkerOptions): SlotWorker => {
  const { store, holder, clock, situation, report } = options
  const findDoubt = watchClock(options)

  /** Takes the steps of one slot for as long as the lease is held. */
  const advance = async (
    slot: Slot,
    taken: { readonly lease: Lease; readonly record: SlotRecord },
    replicas: readonly ReplicaReport[],
    patient: boolean,
  ): Promise<SlotRecord> => {
    let { record } = taken
    const write: StepOptions['write'] = async (change) =>
      (record = await writeStep(store, slot.slot, taken.lease, clock(), change))
    for (let count = 0; count < mostSteps; count++) {
      const step = nextStep(slot, record, situation(slot, replicas))
      // A start waits for the first key alone.
      if (step === undefined || (!patient && signingKey(record) !== undefined)) break
      await report({ slot: slot.slot, step })
      try {
        await takeStep(slot, step, { ...options, write, now: clock })
      } catch (error) {
        if (error instanceof LeaseLost) throw error
        await write((current) => withDelay(current, error, clock()))
        await report({ slot: slot.slot, step, delay: reasonOf(error) })
        break
      }
    }
    return record
  }

  const lookAt = async (
    slot: Slot,
    known: SlotRecord,
    replicas: readonly ReplicaReport[],
    patient: boolean,
  ): Promise<SlotRecord | undefined> => {
    // A start does not wait for the time of the next attempt.
    const eager = (record: SlotRecord): SlotRecord =>
      patient || record.delay?.retry_at === undefined ? record : withoutDelay(record)
    if (nextStep(slot, eager(known), situation(slot, replicas)) === undefined) return undefined
    const taken = await takeLease(store, slot.slot, holder, clock())
    if (taken === undefined) return undefined
    try {
      return await advance(slot, { ...taken, record: eager(taken.record) }, replicas, patient)
    } catch (error) {
      // Whoever holds it now goes on, and this process reads the result at its next look.
      if (error instanceof LeaseLost) return undefined
      throw error
    } finally {
      await releaseLease(store, slot.slot, taken.lease).catch(() => undefined)
    }
  }

  return {
    async work(slots, records, replicas, patient = true) {
      const changed = new Map<string, SlotRecord>()
      const doubt = findDoubt(replicas)
      if (doubt !== undefined) return { changed, doubt }
      for (const slot of slots) {
        const known = records.get(slot.slot) ?? newSlotRecord(slot.slot, clock())
        const record = await lookAt(slot, known, replicas, patient)
        if (record !== undefined) changed.set(slot.slot, record)
      }
      return { changed }
    },
  }
}
