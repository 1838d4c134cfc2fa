import type { Config } from '../../config/schema.js'
import { collections } from '../collections/collections.js'
import type { Stores } from '../collections/stores.js'
import { isObject } from '../json.js'
import { lifetimeOf, probeSeconds } from '../keys/lifecycle/open-ring.js'
import { planKeys, type KeyPlan } from '../keys/lifecycle/plan.js'
import { readPublications, type KeyPublications } from '../keys/lifecycle/publications.js'
import { expandSlots, slotsOf } from '../keys/slots/expand-slots.js'
import { countMonths, monthsFrom, type KeySpan, type MonthlyLoad } from '../keys/slots/monthly-load.js'
import {
  describeWait,
  findOverdue,
  liveReplicas,
  missingReplicas,
  waitingKeys,
  type Situation,
} from '../keys/slots/next-step.js'
import { projectSlot, type ProjectedKey } from '../keys/slots/project-slots.js'
import { findShadowedSlots } from '../keys/slots/shadowed-slots.js'
import { situationOf } from '../keys/slots/situation.js'
import { newSlotRecord, type ReplicaReport, type Slot, type SlotRecord } from '../keys/slots/slot.js'
import { readReports, readSlots } from '../keys/slots/slot-store.js'
import type { LoadedModules } from '../modules/load-modules.js'

/** The records of keys and slots, as the store has them. */
export interface KnownKeys {
  readonly publications: KeyPublications
  readonly slots: ReadonlyMap<string, SlotRecord>
  readonly reports: readonly ReplicaReport[]
}

/** Reads the records of keys and slots. Throws `Unavailable`. */
export const readKnownKeys = async (stores: Stores): Promise<KnownKeys> => {
  const { publications, keySlots, replicas } = collections(stores)
  return {
    publications: await readPublications(publications),
    slots: await readSlots(keySlots),
    reports: await readReports(replicas),
  }
}

/** A slot with the keys that it has and is expected to make. */
export interface SlotForecast {
  readonly slot: Slot
  readonly record: SlotRecord
  /** The reason why its next key is not ready, if it is not. */
  readonly waits?: string
  readonly overdue?: { readonly since: number; readonly reason: string }
  readonly keys: readonly ProjectedKey[]
}

/** The plan of the slots for the coming months. */
export interface KeyForecast {
  readonly slots: readonly SlotForecast[]
  readonly months: readonly MonthlyLoad[]
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** Seconds between two probes of a key of each signer, as its module has read its options. */
const probeSecondsOf =
  ({ signers }: Pick<LoadedModules, 'signers'>) =>
  (signer: string): number => {
    const options = signers.get(signer)?.options
    const given = isObject(options) ? options['probe_secs'] : undefined
    return typeof given === 'number' ? given : probeSeconds
  }

/** Returns whether the next key is ready and waits for its time alone. */
const isReady = (record: SlotRecord, situation: Situation): boolean => {
  const [next] = waitingKeys(record)
  if (record.released === true) return true
  const isAnnounced = next?.announced_at !== undefined && missingReplicas(next.kid, 'proved', situation).length === 0
  return isAnnounced && record.delay === undefined
}

const forecastSlot = (
  config: Config,
  slot: Slot,
  { publications, slots: records, reports }: KnownKeys,
  until: number,
  now: number,
): SlotForecast => {
  const record = records.get(slot.slot) ?? newSlotRecord(slot.slot, now)
  const situation = situationOf(config, slot, { records, reports, publications, readAt: now }, now)
  const overdue = findOverdue(slot, record, situation)
  return {
    slot,
    record,
    ...(!isReady(record, situation) && { waits: describeWait(slot, record, situation) }),
    ...(overdue && { overdue }),
    keys: projectSlot(slot, record, situation, { until, isTaken: (kid) => publications.has(kid) }),
  }
}

/** Counts the probing processes: on each host, one worker proves the keys for all. */
const countProbing = (reports: readonly ReplicaReport[]): number =>
  new Set(reports.map(({ host, pid, pool }) => `${host} ${pool ?? `process ${String(pid)}`}`)).size

/** Plans the slots for so many months from `now` on. */
export const forecastSlots = (
  config: Config,
  known: KnownKeys,
  { modules, months: count }: { readonly modules: Pick<LoadedModules, 'signers'>; readonly months: number },
  now: number,
): KeyForecast => {
  const bounds = monthsFrom(now, count)
  const until = bounds.at(-1) ?? now
  const slots = slotsOf(config).map((slot) => forecastSlot(config, slot, known, until, now))
  const fixed = expandSlots(config.keys, new Map()).map((key): KeySpan => {
    const { notBefore, notAfter } = lifetimeOf(config, key)
    const always = { made_at: -Infinity, removed_at: Infinity, expected: false }
    return { signer: key.signer, ...always, begins: notBefore, ends: notAfter }
  })
  const taken = new Set(config.keys.flatMap((entry) => ('kid' in entry ? [entry.kid] : [])))
  const made = slots.flatMap(({ keys }) =>
    keys
      .filter(({ kid }) => !taken.has(kid))
      .map(({ not_before = Infinity, not_after = Infinity, ended_at = Infinity, ...key }): KeySpan => {
        return { ...key, begins: not_before, ends: Math.min(not_after, ended_at) }
      }),
  )
  const secondsOf = probeSecondsOf(modules)
  const processes = Math.max(1, countProbing(liveReplicas({ replicas: known.reports, readAt: now })))
  const months = countMonths([...fixed, ...made], bounds, (signer) => secondsOf(signer) * 1000, processes)
  return { slots, months, until }
}

/** The plan of all keys until the end of the forecast, with those that slots are expected to make. */
export const planWithSlots = (
  config: Config,
  known: KnownKeys,
  { slots, until }: KeyForecast,
  now: number,
): KeyPlan => {
  const planned = new Map(
    slots.map(({ slot, record, keys }): [string, SlotRecord] => {
      const lasting = keys.filter(({ step, expected }) => expected || step === 'published' || step === 'signing')
      return [slot.slot, { ...record, keys: lasting.map((key) => ({ ...key, step: 'published' })) }]
    }),
  )
  const plan = planKeys(config, expandSlots(config.keys, planned), known.publications, now)
  const existing = new Set(expandSlots(config.keys, known.slots).map(({ kid }) => kid))
  return {
    ...plan,
    changes: plan.changes.filter(({ at }) => at < until),
    signing: plan.signing.filter(({ from }) => from < until),
    published: plan.published.filter(({ kid }) => existing.has(kid)),
    warnings: [...plan.warnings, ...findShadowedSlots(config, known.slots)],
  }
}
