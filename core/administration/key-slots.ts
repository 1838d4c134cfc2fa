import type { Config } from '../../config/schema.js'
import { collections } from '../collections/collections.js'
import { retention } from '../keys/lifecycle/open-ring.js'
import { type KeyPublication } from '../keys/lifecycle/publications.js'
import type { KeyEntry } from '../keys/lifecycle/inventory.js'
import { isKidOf, isSlot, slotsOf } from '../keys/slots/expand-slots.js'
import { announcementMs, isGone, plannedEnd, signingKey } from '../keys/slots/next-step.js'
import {
  dayMs,
  endedSteps,
  nameOf,
  newSlotRecord,
  overlapMs,
  withoutDelay,
  withoutLease,
  withoutRequest,
  type Slot,
  type SlotKey,
  type SlotRecord,
} from '../keys/slots/slot.js'
import { findNearMiss } from '../near-miss.js'
import { etagOf } from './etag.js'
import { neededApprovals, requireApproval } from './require-approval.js'
import { change, isRefusal, type Administration, type Operator, type Refusal } from './administration.js'

const unknownSlot = (config: Config, name: string): Refusal<'unknown'> => {
  const near = findNearMiss(
    name,
    slotsOf(config).map(({ slot }) => slot),
  )
  return { refused: 'unknown', ...(near !== undefined && { reason: `Did you mean ${near}?` }) }
}

const findSlot = (config: Config, name: string): Slot | undefined => slotsOf(config).find(({ slot }) => slot === name)

const withoutReleased = ({ released: _released, ...record }: SlotRecord): SlotRecord => record

/**
 * Changes the record of a slot beside the process that has its lease. The fence grows, so a step under way, which was
 * chosen without this change, is not recorded; the next holder of the lease finds what it did.
 */
const changeRecord = async <R extends Refusal>(
  { stores, clock }: Administration,
  slot: string,
  decide: (record: SlotRecord) => SlotRecord | R,
): Promise<SlotRecord | R> =>
  collections(stores).keySlots.update<SlotRecord | R>(slot, (current = newSlotRecord(slot, clock())) => {
    const decided = decide(current)
    if (isRefusal(decided)) return { result: decided }
    const record: SlotRecord = { ...withoutLease(decided), fence: current.fence + 1, changed_at: clock() }
    return { result: record, write: { record } }
  })

/** The version on which an approval of a slot's change depends: its signing key, and whether it was released. */
export const slotVersion = async ({ stores }: Pick<Administration, 'stores'>, slot: string): Promise<string | null> => {
  const record = await collections(stores).keySlots.find(slot)
  return record === undefined
    ? null
    : etagOf({ signs: signingKey(record)?.kid ?? null, released: record.released === true })
}

/** Throws `AwaitsApproval` where other operators must approve it. */
const planSlot = async (
  administration: Administration,
  by: Operator,
  {
    action,
    ...to
  }: { readonly action: string; readonly slot: string; readonly kid?: string; readonly compromised?: string },
): Promise<void> => {
  if (neededApprovals(administration, action) === 0) return
  const from = await slotVersion(administration, to.slot)
  await requireApproval(administration, by, { action, object: `slot:${to.slot}`, from, to })
}

export interface RotateInput {
  readonly slot: string
  /** A key of the slot that must not be trusted any longer. */
  readonly compromised?: string | undefined
}

/**
 * Asks for the next key of a slot now, and for the withdrawal of a compromised one. The service takes it up within
 * five seconds. `reason` of `unknown` names a similar slot. Throws `Unavailable`.
 */
export const rotateSlot = async (
  administration: Administration,
  by: Operator,
  { slot: name, compromised }: RotateInput,
): Promise<
  { readonly slot: string } | Refusal<'unknown' | 'released' | 'unknown_key' | 'ended' | 'busy' | 'empty'>
> => {
  const { config, clock } = administration
  if (findSlot(config, name) === undefined) return unknownSlot(config, name)
  const what = { action: 'key.rotate', slot: name, ...(compromised !== undefined && { compromised }) }
  await planSlot(administration, by, what)
  return change(administration, by, what, async () => {
    const record = await changeRecord<Refusal<'released' | 'unknown_key' | 'ended' | 'busy' | 'empty'>>(
      administration,
      name,
      (current) => {
        if (current.released === true) return { refused: 'released' }
        if (current.keys.length === 0) return { refused: 'empty' }
        const key = current.keys.find(({ kid }) => kid === compromised)
        if (compromised !== undefined && key === undefined) return { refused: 'unknown_key' }
        if (key !== undefined && endedSteps.includes(key.step)) return { refused: 'ended' }
        // A withdrawal under way must not be forgotten for another one.
        const pending = current.request?.compromised
        if (pending !== undefined && compromised !== undefined && pending !== compromised) return { refused: 'busy' }
        const withdrawn = compromised ?? pending
        const request = { at: clock(), ...(withdrawn !== undefined && { compromised: withdrawn }) }
        return { ...current, request }
      },
    )
    return isRefusal(record) ? record : { slot: name }
  })
}

export interface AdoptInput {
  readonly slot: string
  readonly kid: string
}

/** `fixed`: an entry of the file; `found`: a key of the backend that no record knew; `resumed`: a released slot. */
export interface Adopted {
  readonly adopted: 'fixed' | 'found' | 'resumed'
}

type AdoptRefusal = Refusal<
  'unknown' | 'not_in_file' | 'unpublished' | 'over' | 'alg' | 'signing' | 'known' | 'used' | 'released'
>

/** A key that is older than the period has time to announce its successor, as if its period ended after that. */
const beginOf = (
  slot: Slot,
  entry: KeyEntry,
  { first_published }: Pick<KeyPublication, 'first_published'>,
  now: number,
): number => {
  const { every_days, announce_days } = slot.rotate
  const latest = now + (announce_days - every_days) * dayMs + 2 * announcementMs
  return Math.min(now, Math.max(entry.not_before ?? first_published, latest))
}

const adoptFixed = async (
  administration: Administration,
  slot: Slot,
  entry: KeyEntry,
): Promise<Adopted | AdoptRefusal> => {
  const { stores, clock } = administration
  const now = clock()
  const publication = await collections(stores).publications.find(entry.kid)
  if (publication?.jwk === undefined || publication.withdrawn !== undefined) return { refused: 'unpublished' }
  if ((entry.not_after ?? Infinity) <= now || (entry.not_before ?? -Infinity) > now) return { refused: 'over' }
  if (entry.alg !== slot.alg) return { refused: 'alg' }
  const { jwk, thumbprint, first_published } = publication
  const { kid, alg, signer, purposes, ref } = entry
  const result = await changeRecord<AdoptRefusal>(administration, slot.slot, (current) => {
    if (current.keys.some((key) => key.kid === kid)) return { refused: 'known' }
    if (signingKey(current) !== undefined) return { refused: 'signing' }
    // It comes before every key that the slot has made, and takes no number from them.
    const number = Math.min(1, ...current.keys.map((key) => key.number)) - 1
    const published = { published_at: first_published, announced_at: first_published }
    const key: SlotKey = {
      ...{ number, kid, alg, signer, purposes, name: ref, ref, step: 'signing', attempts: 0, thumbprint, jwk },
      ...{ planned_at: now, ...published, not_before: beginOf(slot, entry, publication, now) },
    }
    return { ...withoutReleased(current), keys: [key, ...current.keys] }
  })
  return isRefusal(result) ? result : { adopted: 'fixed' }
}

/** The next step of the slot finds it in the backend by its name. */
const adoptFound = async (administration: Administration, slot: Slot, kid: string): Promise<Adopted | AdoptRefusal> => {
  const { stores, clock } = administration
  if ((await collections(stores).publications.find(kid)) !== undefined) return { refused: 'used' }
  const number = Number(kid.slice(slot.slot.length + 1))
  const result = await changeRecord<AdoptRefusal>(administration, slot.slot, (current) => {
    if (current.released === true) return { refused: 'released' }
    const known = current.keys.find((key) => key.kid === kid)
    if (known !== undefined) {
      if (known.step !== 'planned' || known.attempts > 0) return { refused: 'known' }
      return {
        ...withoutDelay(current),
        keys: current.keys.map((key) => (key === known ? { ...key, attempts: 1 } : key)),
      }
    }
    if (number < current.next_number) return { refused: 'used' }
    const { alg, signer, purposes } = slot
    const key: SlotKey = {
      ...{ number, kid, alg, signer, purposes, name: nameOf(slot, number, kid) },
      ...{ step: 'planned', attempts: 1, planned_at: clock() },
    }
    return { ...current, next_number: number + 1, keys: [...current.keys, key] }
  })
  return isRefusal(result) ? result : { adopted: 'found' }
}

/** A slot that was released rotates again, from the key that signs. */
const resume = async (
  administration: Administration,
  { slot }: Slot,
  kid: string,
): Promise<Adopted | AdoptRefusal | undefined> => {
  const known = await collections(administration.stores).keySlots.find(slot)
  if (known?.released !== true || signingKey(known)?.kid !== kid) return undefined
  const result = await changeRecord<AdoptRefusal>(administration, slot, withoutReleased)
  return isRefusal(result) ? result : { adopted: 'resumed' }
}

/**
 * Takes a key into a slot: a fixed key of the file that signs, as the slot's first key; a key with a name of the slot
 * that the backend has and no record knows; or the signing key of a slot that was released. No new publication is
 * needed. Throws `Unavailable`.
 */
export const adoptKey = async (
  administration: Administration,
  by: Operator,
  { slot: name, kid }: AdoptInput,
): Promise<Adopted | AdoptRefusal> => {
  const { config } = administration
  const slot = findSlot(config, name)
  if (slot === undefined) return unknownSlot(config, name)
  const entry = config.keys.find((one): one is KeyEntry => !isSlot(one) && one.kid === kid)
  if (entry === undefined && !isKidOf(name, kid)) {
    const fixed = config.keys.flatMap((one) => (isSlot(one) ? [] : [one.kid]))
    const near = findNearMiss(kid, fixed)
    return { refused: 'not_in_file', ...(near !== undefined && { reason: `Did you mean ${near}?` }) }
  }
  await planSlot(administration, by, { action: 'key.adopt', slot: name, kid })
  return change(administration, by, { action: 'key.adopt', slot: name, kid }, async () => {
    const resumed = await resume(administration, slot, kid)
    if (resumed !== undefined) return resumed
    return entry === undefined ? adoptFound(administration, slot, kid) : adoptFixed(administration, slot, entry)
  })
}

/** A fixed entry of `keys`. Times are milliseconds since the epoch. */
export interface FixedEntry extends Pick<SlotKey, 'kid' | 'alg' | 'signer' | 'purposes'> {
  readonly ref: string
  readonly not_before?: number
  readonly not_after?: number
}

/** Returns the fixed entries that keep the keys of a slot in service without it, in the order of preference. */
const fixedEntries = (config: Config, slot: Slot, record: SlotRecord, now: number): readonly FixedEntry[] => {
  const present = signingKey(record)
  const next = record.keys.find(({ step }) => step === 'published')
  // Keys that never signed go on waiting for the planned end of the present one.
  const change = present === undefined ? undefined : Math.max(plannedEnd(slot, present), now + 2 * announcementMs)
  return record.keys
    .filter((key) =>
      key.step === 'signing' ? !isGone(key, retention(config, key.purposes) * 1000, now) : key === next,
    )
    .toSorted((a, b) => b.number - a.number)
    .map((key): FixedEntry => {
      const { kid, alg, signer, purposes, ref = key.name } = key
      const ends = key === present && next !== undefined && change !== undefined ? change + overlapMs : key.not_after
      const begins = key === next ? change : key.not_before
      return {
        ...{ kid, alg, signer, purposes, ref },
        ...(begins !== undefined && { not_before: begins }),
        ...(ends !== undefined && { not_after: ends }),
      }
    })
}

/**
 * Ends the rotation of a slot, whose keys stay in service as they are, and returns the fixed entries that take its
 * place in the file. It may be repeated. Throws `Unavailable`.
 */
export const releaseSlot = async (
  administration: Administration,
  by: Operator,
  { slot: name }: { readonly slot: string },
): Promise<{ readonly entries: readonly FixedEntry[] } | Refusal<'unknown' | 'empty'>> => {
  const { config, clock } = administration
  const slot = findSlot(config, name)
  if (slot === undefined) return unknownSlot(config, name)
  await planSlot(administration, by, { action: 'key.release', slot: name })
  return change(administration, by, { action: 'key.release', slot: name }, async () => {
    const record = await changeRecord<Refusal<'empty'>>(administration, name, (current) => {
      if (signingKey(current) === undefined) return { refused: 'empty' }
      return { ...withoutRequest(withoutDelay(current)), released: true }
    })
    return isRefusal(record) ? record : { entries: fixedEntries(config, slot, record, clock()) }
  })
}
