import {
  announcement,
  announcementMs,
  isCurrent,
  leastAnnouncementMs,
  signingKey,
  waitingKeys,
  type Situation,
} from './next-step.js'
import { dayMs, kidOf, nameOf, overlapMs, type Slot, type SlotKey, type SlotRecord } from './slot.js'

/** A key with the times that its slot plans for it. */
export interface ProjectedKey extends SlotKey {
  /** When the backend makes it, or has made it. */
  readonly made_at: number
  /** When the backend has destroyed it, or infinity. */
  readonly removed_at: number
  /** Whether it does not exist yet. */
  readonly expected: boolean
}

export interface ProjectionLimits {
  /** Whether a `kid` is or was in use outside the slot. */
  readonly isTaken: (kid: string) => boolean
  /** Milliseconds since the epoch. Keys that are made later are left out. */
  readonly until: number
}

const removalOf = ({ rotate }: Slot, key: SlotKey, { retention }: Pick<Situation, 'retention'>): number => {
  const days = rotate.destroy_after_days
  if (days === undefined) return Infinity
  if (key.step === 'disabled') return (key.ended_at ?? 0) + days * dayMs
  const over = key.ended_at ?? (key.not_after ?? Infinity) + retention(key.purposes)
  return over + 2 * days * dayMs
}

/** When the key after those that begin at `begins` is made, if the slot keeps its plan. */
const makingTime = ({ rotate }: Slot, begins: readonly number[], now: number): number => {
  const { ahead, every_days, announce_days } = rotate
  if (ahead > 0) return Math.max(now, begins.at(-ahead) ?? now)
  const last = begins.at(-1)
  return last === undefined ? now : Math.max(now, last + (every_days - announce_days) * dayMs - 2 * announcementMs)
}

const expectedKey = (slot: Slot, number: number, planned_at: number): SlotKey => {
  const kid = kidOf(slot.slot, number)
  const { alg, signer, purposes } = slot
  const name = nameOf(slot, number, kid)
  return { number, kid, alg, signer, purposes, name, step: 'planned', attempts: 0, planned_at }
}

interface PlannedKey {
  readonly key: SlotKey
  readonly made_at: number
  readonly expected: boolean
  readonly begins: number
}

/** The keys that sign one after the other: the present one, those that wait, and those that are still to be made. */
const planChain = (
  slot: Slot,
  record: SlotRecord,
  situation: Situation,
  { isTaken, until }: ProjectionLimits,
): readonly PlannedKey[] => {
  const { now } = situation
  const { every_days, announce_days } = slot.rotate
  const chain: PlannedKey[] = []
  const add = (key: SlotKey, made_at: number, expected: boolean, begins: number): void =>
    void chain.push({ key, made_at, expected, begins })
  const present = signingKey(record)
  if (present !== undefined) add(present, present.planned_at, false, present.not_before ?? 0)
  if (record.released === true) return chain
  const waiting = waitingKeys(record).filter((key) => isCurrent(slot, key) && key.kid !== record.request?.compromised)
  let number = record.next_number
  for (let index = 0; ; index++) {
    const known = waiting[index]
    const begins = chain.map((one) => one.begins)
    const made = known?.planned_at ?? makingTime(slot, begins, now)
    if (made >= until) return chain
    while (known === undefined && isTaken(kidOf(slot.slot, number))) number++
    const key = known ?? expectedKey(slot, number++, made)
    const isFirst = index === 0
    const last = begins.at(-1)
    const due = last === undefined || (isFirst && record.request !== undefined) ? now : last + every_days * dayMs
    const wait = isFirst ? announcement(slot, record, situation) : Math.max(announce_days * dayMs, leastAnnouncementMs)
    add(key, made, known === undefined, Math.max(now, due, (key.announced_at ?? Math.max(now, made)) + wait))
  }
}

/**
 * Every key that the backend holds for a slot or will hold until `until`, with the times at which it is planned to
 * sign. The last one has no end. Pure.
 */
export const projectSlot = (
  slot: Slot,
  record: SlotRecord,
  situation: Situation,
  limits: ProjectionLimits,
): readonly ProjectedKey[] => {
  const chain = planChain(slot, record, situation, limits)
  const planned = chain.map(({ key, made_at, expected, begins }, index): ProjectedKey => {
    const next = chain[index + 1]?.begins
    const timed = { ...key, not_before: begins, ...(next !== undefined && { not_after: next + overlapMs }) }
    return { ...timed, made_at, expected, removed_at: removalOf(slot, timed, situation) }
  })
  const inChain = new Set(planned.map(({ kid }) => kid))
  const others = record.keys.filter(
    ({ kid, step, ref, attempts }) => !inChain.has(kid) && step !== 'destroyed' && (ref !== undefined || attempts > 0),
  )
  return [
    ...others.map((key) => ({
      ...key,
      made_at: key.planned_at,
      removed_at: removalOf(slot, key, situation),
      expected: false,
    })),
    ...planned,
  ]
}
