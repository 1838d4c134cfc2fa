import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { ConfigurationError, type Problem } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import type { KeyPublications } from '../keys/lifecycle/publications.js'
import type { SignerProvider } from '../keys/ports.js'
import { isSlot, slotsOf } from '../keys/slots/expand-slots.js'
import { isByCeremony, type Situation } from '../keys/slots/next-step.js'
import { overlapMs, replicaSilenceMs, type ReplicaReport, type Slot, type SlotRecord } from '../keys/slots/slot.js'
import { situationOf } from '../keys/slots/situation.js'
import { readReports, readSlots } from '../keys/slots/slot-store.js'
import { createSlotWorker, type SlotNews, type SlotWorker } from '../keys/slots/slot-worker.js'
import type { AuditLog } from '../observe/audit.js'
import type { Log } from '../observe/log.js'
import type { RecordStore } from '../storage/ports.js'

/** Milliseconds that a start waits for the first keys of its slots, which another replica may be making. */
const prepareMs = 15_000
const pollMs = 100

export interface SlotSourceOptions {
  readonly clock: Clock
  /** Milliseconds that only pass, whatever the clock shows. */
  readonly monotonic?: () => number
  readonly sleep?: (milliseconds: number) => Promise<unknown>
  readonly keySlots: RecordStore<SlotRecord>
  readonly replicas: RecordStore<ReplicaReport>
  readonly audit: AuditLog
  readonly log: Log
  readonly publications: KeyPublications
  /** Names the workers of this host that prove their keys together. */
  readonly pool?: string | undefined
}

type Providers = ReadonlyMap<string, SignerProvider>

/** What this process knows of the slots, and its hand on them. One per issuer; it survives reloads. */
export interface SlotSource {
  /** Names this process among the replicas. */
  readonly replica: string
  /** As last read. */
  readonly records: ReadonlyMap<string, SlotRecord>
  readonly reports: readonly ReplicaReport[]
  /** Why the slots are not worked on, if the clock is in doubt. */
  readonly doubt: string | undefined
  /** Reads both again. Throws `Unavailable`. */
  read(): Promise<void>
  /** Notes that this process serves the keys of the records as last read. */
  followed(): void
  /** Tells whether the served keys are recent enough to sign: their records were read within the last hour. */
  isRecent(): boolean
  /**
   * Whether other replicas wait for this one, so that caches may keep its key set. A process that was paused wakes up
   * with an old one.
   */
  isFresh(): boolean
  /** What the next step of a slot depends on. */
  situation(config: Config, slot: Slot): Situation
  /**
   * Makes the first key of each slot that has none. Throws `ConfigurationError` for a slot that a backend refuses, and
   * `Unavailable`.
   */
  prepare(config: Config, providers: Providers): Promise<void>
  /**
   * Takes the steps that are due, once this process has looked for a minute without a break. True when a record has
   * changed. Throws `Unavailable`.
   */
  work(config: Config, providers: Providers): Promise<boolean>
  /** Reports what this process publishes and has proved, when that is new or the last report is old. Throws `Unavailable`. */
  report(kids: Pick<ReplicaReport, 'published' | 'proved'>): Promise<void>
}

/** Milliseconds between two reports of this process. */
const reportMs = 10_000
/** Seconds for which the report of a process that has ended is kept. */
const reportTtlSeconds = 3600

const needsFirstKey = (record: SlotRecord | undefined): boolean =>
  record === undefined ||
  (!record.released && !record.keys.some(({ step }) => step === 'published' || step === 'signing'))

/** A slot whose first key a ceremony still has to make is not waited for. */
const waitsForCeremony = (slot: Slot, record: SlotRecord | undefined): boolean =>
  isByCeremony(slot) && record?.keys.some(({ step }) => step === 'proved') !== true

/** The slots without a key for which a backend refuses to make one. */
const findRefused = (config: Config, records: ReadonlyMap<string, SlotRecord>): readonly Problem[] =>
  config.keys.flatMap((entry, index) => {
    const record = isSlot(entry) ? records.get(entry.slot) : undefined
    if (!needsFirstKey(record) || record?.delay?.refused !== true) return []
    return [{ path: `keys[${String(index)}]`, message: record.delay.reason }]
  })

const recordNews = async (
  { slot, step, delay: reason }: SlotNews,
  { audit, log }: Pick<SlotSourceOptions, 'audit' | 'log'>,
): Promise<void> => {
  const what = { slot, step: step?.do, ...(step !== undefined && 'key' in step && { kid: step.key.kid }) }
  if (reason !== undefined) log.warn('A slot could not take its next step', { ...what, reason })
  await audit.record({ event: reason === undefined ? 'slot.changed' : 'slot.delayed', ...what, reason })
}

/** Each call has a deadline of its own. */
const never = new AbortController().signal

/** Returns the worker of a configuration; the same one until that or its providers are replaced. */
const createWorkerOf = (
  { clock, monotonic, keySlots, publications, ...options }: SlotSourceOptions & { readonly monotonic: () => number },
  holder: string,
  situation: SlotSource['situation'],
): ((config: Config, providers: Providers) => SlotWorker) => {
  let last: { readonly config: Config; readonly providers: Providers; readonly worker: SlotWorker } | undefined
  return (config, providers) => {
    if (last?.config === config && last.providers === providers) return last.worker
    const fixed = new Set(config.keys.flatMap((entry) => (isSlot(entry) ? [] : [entry.kid])))
    const worker = createSlotWorker({
      ...{ store: keySlots, holder, clock, monotonic, deployment: config.issuer, signal: never },
      providerOf: (name) => providers.get(name),
      isTaken: (kid) => publications.has(kid) || fixed.has(kid),
      situation: (slot) => situation(config, slot),
      report: (news) => recordNews(news, options),
    })
    last = { config, providers, worker }
    return worker
  }
}

export const createSlotSource = (options: SlotSourceOptions): SlotSource => {
  const { clock, keySlots, replicas, publications } = options
  const { monotonic = () => performance.now(), sleep = delay } = options
  const replica = randomUUID()
  let records: ReadonlyMap<string, SlotRecord> = new Map()
  let reports: readonly ReplicaReport[] = []
  let readAt = { wall: -Infinity, passed: -Infinity }
  /** When the records were read whose keys are served. A replica may read them, and fail to open a key. */
  let servedAt = readAt
  /** Since when this process has looked without a break. */
  let attentiveSince = monotonic()
  let doubt: string | undefined
  let reported: { readonly at: number; readonly kids: Pick<ReplicaReport, 'published' | 'proved'> } | undefined

  const situation = (config: Config, slot: Slot): Situation =>
    situationOf(config, slot, { records, reports, publications, readAt: readAt.wall }, clock())

  const read = async (): Promise<void> => {
    const passed = monotonic()
    const wall = clock()
    ;[records, reports] = await Promise.all([readSlots(keySlots), readReports(replicas)])
    if (passed - readAt.passed > replicaSilenceMs) attentiveSince = passed
    readAt = { wall, passed }
  }

  const workerOf = createWorkerOf({ ...options, monotonic }, replica, situation)

  const isServedWithin = (milliseconds: number): boolean =>
    Math.abs(clock() - servedAt.wall) < milliseconds && monotonic() - servedAt.passed < milliseconds

  const workOn = async (slots: readonly Slot[], config: Config, providers: Providers, patient: boolean) => {
    const done = await workerOf(config, providers).work(slots, records, reports, patient)
    doubt = done.doubt
    if (done.changed.size > 0) records = new Map([...records, ...done.changed])
    return done.changed.size > 0
  }

  return {
    replica,
    get records() {
      return records
    },
    get reports() {
      return reports
    },
    get doubt() {
      return doubt
    },
    read,
    situation,
    followed() {
      servedAt = readAt
    },
    isRecent: () => isServedWithin(overlapMs),
    isFresh: () => isServedWithin(replicaSilenceMs),
    async prepare(config, providers) {
      if (slotsOf(config).length === 0) return
      const end = monotonic() + prepareMs
      await read()
      for (;;) {
        const empty = slotsOf(config).filter((slot) => {
          const record = records.get(slot.slot)
          return needsFirstKey(record) && !waitsForCeremony(slot, record)
        })
        if (empty.length === 0) return
        await workOn(empty, config, providers, false)
        await read()
        const refused = findRefused(config, records)
        if (refused.length > 0) throw new ConfigurationError(refused)
        const waiting = empty.filter(({ slot }) => needsFirstKey(records.get(slot)))
        if (waiting.every(({ slot }) => records.get(slot)?.delay !== undefined) || monotonic() > end) return
        await sleep(pollMs)
      }
    },
    // Replicas that could not report either, because the store or all of them were away, get their time to do so.
    work: (config, providers) =>
      monotonic() - attentiveSince < replicaSilenceMs
        ? Promise.resolve(false)
        : workOn(slotsOf(config), config, providers, true),
    async report(kids) {
      const now = monotonic()
      if (reported !== undefined && now - reported.at < reportMs && isDeepStrictEqual(reported.kids, kids)) return
      const of = options.pool !== undefined && { pool: options.pool }
      const record: ReplicaReport = { replica, at: clock(), host: hostname(), pid: process.pid, ...of, ...kids }
      await replicas.put(replica, record, { ttlSeconds: reportTtlSeconds })
      reported = { at: now, kids }
      reports = [...reports.filter((other) => other.replica !== replica), record]
    },
  }
}
