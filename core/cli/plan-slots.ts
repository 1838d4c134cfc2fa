import { resolve } from 'node:path'
import { isoTime } from '../clock.js'
import type { Config } from '../../config/schema.js'
import { lifetimeOf, probeSeconds } from '../keys/lifecycle/open-ring.js'
import { planKeys, type KeyPlan } from '../keys/lifecycle/plan.js'
import { expandSlots, slotsOf } from '../keys/slots/expand-slots.js'
import { countMonths, monthsFrom, type KeySpan, type MonthlyLoad } from '../keys/slots/monthly-load.js'
import {
  describeWait,
  findOverdue,
  liveReplicas,
  missingReplicas,
  signingKey,
  waitingKeys,
  type Situation,
} from '../keys/slots/next-step.js'
import { projectSlot, type ProjectedKey } from '../keys/slots/project-slots.js'
import { findShadowedSlots } from '../keys/slots/shadowed-slots.js'
import { situationOf } from '../keys/slots/situation.js'
import { newSlotRecord, type ReplicaReport, type Slot, type SlotKey, type SlotRecord } from '../keys/slots/slot.js'
import { isObject } from '../json.js'
import { loadModules } from '../modules/load-modules.js'
import { bad, heading, print } from './output.js'
import type { KnownKeys } from './known-keys.js'
import { printTable } from './table.js'

interface SlotForecast {
  readonly slot: Slot
  readonly record: SlotRecord
  /** The reason why its next key is not ready, if it is not. */
  readonly waits?: string
  readonly overdue?: { readonly since: number; readonly reason: string }
  readonly keys: readonly ProjectedKey[]
}

interface Forecast {
  readonly slots: readonly SlotForecast[]
  readonly months: readonly MonthlyLoad[]
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** Seconds between two probes of a key of each signer, as its module has read its options. */
const readProbeSeconds = async (config: Config, file: string): Promise<(signer: string) => number> => {
  const { signers } = await loadModules({ plugins: [], signers: config.signers }, resolve(file))
  return (signer) => {
    const options = signers.get(signer)?.options
    const given = isObject(options) ? options['probe_secs'] : undefined
    return typeof given === 'number' ? given : probeSeconds
  }
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
export const forecastSlots = async (
  config: Config,
  known: KnownKeys,
  { file, months: count }: { readonly file: string; readonly months: number },
  now: number,
): Promise<Forecast> => {
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
  const secondsOf = await readProbeSeconds(config, file)
  const processes = Math.max(1, countProbing(liveReplicas({ replicas: known.reports, readAt: now })))
  const months = countMonths([...fixed, ...made], bounds, (signer) => secondsOf(signer) * 1000, processes)
  return { slots, months, until }
}

/** The plan of all keys until the end of the forecast, with those that slots are expected to make. */
export const planWithSlots = (config: Config, known: KnownKeys, { slots, until }: Forecast, now: number): KeyPlan => {
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

const timesOf = ({ not_before, not_after, made_at }: ProjectedKey): readonly (number | undefined)[] => [
  made_at,
  not_before,
  not_after,
]

const stepOf = ({ step, not_after, expected }: ProjectedKey, now: number): string =>
  expected ? 'expected' : step === 'signing' && not_after !== undefined && not_after <= now ? 'retired' : step

const describeSlot = ({ slot: { slot }, record, waits, keys }: SlotForecast): string => {
  if (record.released === true) return `${slot} was released: "signet keys adopt" takes its signing key back`
  const present = signingKey(record)
  const next = keys[keys.findIndex(({ kid }) => kid === present?.kid) + 1]
  const plan = next === undefined ? '' : `, ${next.kid} from ${isoTime(next.not_before ?? 0)}`
  return `${slot}: ${present?.kid ?? 'no key'} signs${plan}${waits === undefined ? '' : `; ${waits}`}`
}

const describeEnding = ({ kid, ending }: SlotKey): string | undefined =>
  ending &&
  `${kid} was withdrawn; what it signed is being ended: ${String(ending.people)} people and ${String(ending.attestations)} attestations so far`

/** Prints the slots and their backends. An overdue slot is a red line. */
export const printForecast = ({ slots, months }: Forecast, now = Date.now()): void => {
  print(heading('Slots'))
  for (const one of slots) {
    const { slot, overdue } = one
    if (overdue === undefined) print(describeSlot(one))
    else print(bad(`${slot.slot} is overdue since ${isoTime(overdue.since)}: ${overdue.reason}`))
    for (const ending of one.record.keys.map(describeEnding)) if (ending !== undefined) print(bad(ending))
  }
  print(`\n${heading('Keys of slots')}`)
  printTable(
    ['SLOT', 'KEY', 'STEP', 'MADE', 'SIGNS FROM', 'UNTIL'],
    slots.flatMap(({ slot, keys }) =>
      keys.map((key) => [
        slot.slot,
        key.kid,
        stepOf(key, now),
        ...timesOf(key).map((time) => (time === undefined ? '' : isoTime(time))),
      ]),
    ),
  )
  print(`\n${heading('What signers hold and do')}`)
  printTable(
    ['MONTH', 'SIGNER', 'KEYS', 'NEW', 'PROBES', 'PROOFS'],
    months.map(({ month, signer, ...counts }) => [
      month,
      signer,
      ...[counts.keys, counts.new_keys, counts.probes, counts.proofs].map(String),
    ]),
  )
  print('')
}

export const forecastInJson = ({ slots, months }: Forecast, now = Date.now()) => ({
  slots: slots.map(({ slot, record, waits, overdue, keys }) => ({
    slot: slot.slot,
    signer: slot.signer,
    alg: slot.alg,
    released: record.released === true,
    waits,
    ...(overdue && { overdue: { since: isoTime(overdue.since), reason: overdue.reason } }),
    keys: keys.map((key) => {
      const [made_at, not_before, not_after] = timesOf(key).map((time) => (time === undefined ? time : isoTime(time)))
      return { kid: key.kid, signer: key.signer, alg: key.alg, step: stepOf(key, now), made_at, not_before, not_after }
    }),
  })),
  months,
})
