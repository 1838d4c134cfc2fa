import { isDeepStrictEqual } from 'node:util'
import type { KeyPurpose } from '../ports.js'
import {
  dayMs,
  endedSteps,
  replicaSilenceMs,
  type ReplicaReport,
  type Slot,
  type SlotForm,
  type SlotKey,
  type SlotRecord,
} from './slot.js'

/** Milliseconds for which relying parties may cache the key set. */
export const announcementMs = 3_600_000
/** Milliseconds in which a replica that has just started reports what it publishes. */
const reportingMs = 60_000
/** Milliseconds for which any key is announced that relying parties have to know. */
export const leastAnnouncementMs = announcementMs + reportingMs
/** Milliseconds after a planned time from which a slot counts as overdue. */
const graceMs = 600_000

/** What the next step of a slot depends on, besides its record. */
export interface Situation {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Every replica that has ever reported and not been forgotten. */
  readonly replicas: readonly ReplicaReport[]
  /** When the reports were read. Who was silent then is not waited for. */
  readonly readAt: number
  /** Whether a key outside the slot signs every purpose of the slot with its algorithm. */
  readonly othersSign: boolean
  /** True while no relying party can hold a key set of this deployment. */
  readonly firstStart: boolean
  /** Milliseconds until the last token for one of these purposes has expired. */
  readonly retention: (purposes: readonly KeyPurpose[]) => number
}

export type NextStep =
  | { readonly do: 'plan' }
  | {
      readonly do: 'make' | 'prove' | 'publish' | 'announce' | 'abandon' | 'disable' | 'destroy'
      readonly key: SlotKey
    }
  /** `key` signs from now on, in place of `before`. */
  | { readonly do: 'switch'; readonly key: SlotKey; readonly before: SlotKey | undefined }
  | { readonly do: 'withdraw'; readonly key: SlotKey }

/** Keys that have not signed and may. */
export const waitingKeys = ({ keys }: SlotRecord): readonly SlotKey[] =>
  keys.filter(({ step }) => ['planned', 'made', 'proved', 'published'].includes(step))

/** The key that signs, and has no successor. */
export const signingKey = ({ keys }: SlotRecord): SlotKey | undefined =>
  keys.findLast(({ step, not_after }) => step === 'signing' && not_after === undefined)

export const isGone = ({ step, not_after }: SlotKey, purposesMs: number, now: number): boolean =>
  step === 'signing' && not_after !== undefined && now >= not_after + purposesMs

/** Replicas that had reported in the minute before. A clock may be ahead of this one. */
export const liveReplicas = ({ replicas, readAt }: Pick<Situation, 'replicas' | 'readAt'>): readonly ReplicaReport[] =>
  replicas.filter(({ at }) => Math.abs(readAt - at) <= replicaSilenceMs)

/** The live replicas that do not report `kid` yet. */
export const missingReplicas = (
  kid: string,
  what: 'published' | 'proved',
  situation: Pick<Situation, 'replicas' | 'readAt'>,
): readonly ReplicaReport[] => liveReplicas(situation).filter((report) => !report[what].includes(kid))

const reported = (kid: string, what: 'published' | 'proved', situation: Situation): boolean =>
  liveReplicas(situation).length > 0 && missingReplicas(kid, what, situation).length === 0

/** When the present key is planned to end. */
export const plannedEnd = ({ rotate }: Slot, { not_before }: SlotKey): number =>
  (not_before ?? 0) + rotate.every_days * dayMs

/** Milliseconds for which a waiting key must have been announced before it signs. */
export const announcement = (slot: Slot, record: SlotRecord, situation: Situation): number => {
  if (record.request !== undefined) return leastAnnouncementMs
  if (signingKey(record) !== undefined || situation.othersSign)
    return Math.max(slot.rotate.announce_days * dayMs, leastAnnouncementMs)
  return situation.firstStart ? 0 : leastAnnouncementMs
}

/** The time from which `key` may sign, or undefined while replicas are waited for. */
const mayBegin = (slot: Slot, record: SlotRecord, key: SlotKey, situation: Situation): number | undefined => {
  const wait = announcement(slot, record, situation)
  // Before the first key set was served, nobody has to know the key and no replica reports.
  if (wait === 0) return key.step === 'published' ? situation.now : undefined
  if (key.announced_at === undefined || !reported(key.kid, 'proved', situation)) return undefined
  return key.announced_at + wait
}

/** Whether the present key should end now. */
const isDue = (slot: Slot, record: SlotRecord, now: number): boolean => {
  const present = signingKey(record)
  if (present === undefined || now >= plannedEnd(slot, present)) return true
  const { request } = record
  // Another key can be withdrawn without a change.
  return request !== undefined && (request.compromised === undefined || request.compromised === present.kid)
}

const switchStep = (slot: Slot, record: SlotRecord, situation: Situation): NextStep | undefined => {
  if (!isDue(slot, record, situation.now)) return undefined
  const key = waitingKeys(record).find((one) => one.kid !== record.request?.compromised)
  if (key === undefined || !isCurrent(slot, key)) return undefined
  const from = mayBegin(slot, record, key, situation)
  return from !== undefined && situation.now >= from ? { do: 'switch', key, before: signingKey(record) } : undefined
}

/** A compromised key that does not sign is withdrawn at once; one that signs is withdrawn after its successor began. */
const withdrawStep = (record: SlotRecord): NextStep | undefined => {
  const key = record.keys.find(({ kid }) => kid === record.request?.compromised)
  if (key === undefined || endedSteps.includes(key.step)) return undefined
  return key === signingKey(record) ? undefined : { do: 'withdraw', key }
}

/** Whether a waiting key is what the configuration asks for now. */
export const isCurrent = ({ alg, signer, purposes }: SlotForm, key: SlotKey): boolean =>
  key.alg === alg && key.signer === signer && isDeepStrictEqual(key.purposes, purposes)

/** Tells whether people make the keys of a slot, and the service only publishes and uses them. */
export const isByCeremony = ({ rotate }: Slot): boolean => rotate.by === 'ceremony'

/** Keys that only exist when a ceremony has made and proved them. */
const isUnfinished = ({ step }: SlotKey): boolean => step === 'planned' || step === 'made'

const prepareStep = (slot: Slot, record: SlotRecord, situation: Situation): NextStep | undefined => {
  for (const key of waitingKeys(record)) {
    if (!isCurrent(slot, key)) return { do: 'abandon', key }
    if (isByCeremony(slot) && isUnfinished(key)) continue
    if (key.step === 'planned') return { do: 'make', key }
    if (key.step === 'made') return { do: 'prove', key }
    if (key.step === 'proved') return { do: 'publish', key }
    if (key.announced_at === undefined && reported(key.kid, 'published', situation)) return { do: 'announce', key }
  }
  return undefined
}

/** Whether the next key has to exist now. */
const needsKey = (slot: Slot, record: SlotRecord, now: number): boolean => {
  const { ahead, announce_days } = slot.rotate
  const present = signingKey(record)
  const soon =
    present === undefined ||
    record.request !== undefined ||
    now >= plannedEnd(slot, present) - announce_days * dayMs - 2 * announcementMs
  return waitingKeys(record).length < Math.max(ahead, soon ? 1 : 0)
}

/** The keys of a slot that relying parties may still need. */
export const aliveKeys = (record: SlotRecord, { retention, now }: Pick<Situation, 'retention' | 'now'>) => [
  ...waitingKeys(record),
  ...record.keys.filter((key) => key.step === 'signing' && !isGone(key, retention(key.purposes), now)),
]

/** Whether the slot may not make the key that it needs. */
export const isFull = (slot: Slot, record: SlotRecord, situation: Situation): boolean =>
  needsKey(slot, record, situation.now) && aliveKeys(record, situation).length >= slot.rotate.max_keys

const removalStep = (slot: Slot, record: SlotRecord, { now, retention }: Situation): NextStep | undefined => {
  const days = slot.rotate.destroy_after_days
  if (days === undefined) return undefined
  const over = (key: SlotKey): boolean =>
    isGone(key, retention(key.purposes) + days * dayMs, now) ||
    // Nothing accepts their signatures, so there is no token to wait for.
    (['withdrawn', 'abandoned'].includes(key.step) &&
      key.ref !== undefined &&
      now >= (key.ended_at ?? now) + days * dayMs)
  for (const key of record.keys) {
    if (over(key)) return { do: 'disable', key }
    // A second period, so that a clock that was wrong for a day destroys nothing.
    if (key.step === 'disabled' && now >= (key.ended_at ?? now) + days * dayMs) return { do: 'destroy', key }
  }
  return undefined
}

/** Whether no attempt at making a key may be made yet. */
const isDelayed = ({ delay }: SlotRecord, now: number): boolean =>
  delay !== undefined && (delay.retry_at === undefined || now < delay.retry_at)

/** A number that cannot be made is given up when an operator asks for the next key. */
const abandonStep = (record: SlotRecord): NextStep | undefined => {
  const { delay, request } = record
  if (delay === undefined || delay.retry_at !== undefined || request === undefined || request.at < delay.since)
    return undefined
  const key = waitingKeys(record).find(({ step }) => step !== 'published')
  return key && { do: 'abandon', key }
}

/** The step that a slot needs now, or undefined. Pure. */
export const nextStep = (slot: Slot, record: SlotRecord, situation: Situation): NextStep | undefined => {
  if (record.released) return undefined
  const urgent = switchStep(slot, record, situation) ?? withdrawStep(record) ?? abandonStep(record)
  if (urgent !== undefined) return urgent
  if (isDelayed(record, situation.now)) return undefined
  const prepare = prepareStep(slot, record, situation)
  if (prepare !== undefined) return prepare
  const needs = !isByCeremony(slot) && needsKey(slot, record, situation.now)
  if (needs && !isFull(slot, record, situation)) return { do: 'plan' }
  return removalStep(slot, record, situation)
}

const nameReplicas = (reports: readonly ReplicaReport[]): string =>
  reports.map(({ host, pid }) => `${host} (process ${String(pid)})`).join(', ')

/** What the next key is waiting for, in words for the operator. Pure. */
export const describeWait = (slot: Slot, record: SlotRecord, situation: Situation): string => {
  if (record.delay !== undefined) return record.delay.reason
  if (isFull(slot, record, situation))
    return `it has max_keys: ${String(slot.rotate.max_keys)} keys, and none has expired`
  const [key] = waitingKeys(record)
  if (isByCeremony(slot) && (key === undefined || isUnfinished(key))) return 'it waits for a ceremony'
  if (key === undefined) return 'the next key is not planned yet'
  if (key.step !== 'published') return `${key.kid} is ${key.step}`
  const unpublished = key.announced_at === undefined ? missingReplicas(key.kid, 'published', situation) : []
  if (unpublished.length > 0) return `${key.kid} is not published yet by ${nameReplicas(unpublished)}`
  const unproved = missingReplicas(key.kid, 'proved', situation)
  if (unproved.length > 0) return `${key.kid} is not proved yet by ${nameReplicas(unproved)}`
  const from = mayBegin(slot, record, key, situation)
  // Nothing is done in the first minute after a start or a break.
  if (from !== undefined && situation.now >= from)
    return `${key.kid} is ready, and signs once a replica has looked for a minute`
  return `${key.kid} has not been published for long enough`
}

/**
 * Since when a slot is late, and why; undefined while it keeps its plan. A slot is late when its present key should
 * have ended, or when the next one should have been announced. Pure.
 */
export const findOverdue = (
  slot: Slot,
  record: SlotRecord,
  situation: Situation,
): { readonly since: number; readonly reason: string } | undefined => {
  if (record.released) return undefined
  const present = signingKey(record)
  const announced = waitingKeys(record).some(({ announced_at }) => announced_at !== undefined)
  const begun = record.keys[0]?.planned_at ?? record.changed_at
  const since =
    present === undefined
      ? begun + announcement(slot, record, situation)
      : announced
        ? plannedEnd(slot, present)
        : plannedEnd(slot, present) - slot.rotate.announce_days * dayMs
  if (situation.now < since + graceMs) return undefined
  return { since, reason: describeWait(slot, record, situation) }
}
