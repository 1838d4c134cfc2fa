import { isDeepStrictEqual } from 'node:util'
import { ConfigurationError } from '../../config/problems.js'
import { isoTime } from '../clock.js'
import { expandSlots, isSlot, slotsOf } from '../keys/slots/expand-slots.js'
import { findOverdue } from '../keys/slots/next-step.js'
import { newSlotRecord } from '../keys/slots/slot.js'
import type { AuditLog } from '../observe/audit.js'
import type { Log } from '../observe/log.js'
import { Unavailable } from '../unavailable.js'
import type { Generation } from './generation.js'
import type { SlotSource } from './slot-source.js'

/** Milliseconds between two looks at the slots. */
const lookMs = 5000

export interface SlotWatch {
  readonly slots: SlotSource
  readonly serving: () => Generation
  /** Serves the keys that the records name now. Throws `ConfigurationError`, `Unavailable`. */
  readonly refreshKeys: () => Promise<void>
  readonly audit: AuditLog
  readonly log: Log
}

/** Changes with every change of the keys. */
const versionsOf = (records: SlotSource['records']): string =>
  [...records.values()].map(({ slot, fence, changed_at }) => `${slot} ${String(fence)} ${String(changed_at)}`).join()

/** The keys of slots that this process publishes, and those of them that it has proved. */
const keysOf = ({ checked, entries, ring }: Generation) => {
  const fixed = new Set(checked.config.keys.flatMap((entry) => (isSlot(entry) ? [] : [entry.kid])))
  const kids = entries.flatMap(({ kid }) => (fixed.has(kid) ? [] : [kid]))
  return {
    published: kids.filter((kid) => ring.publishedKey(kid) !== undefined),
    proved: kids.filter((kid) => ring.find(kid)?.trust === 'proved'),
  }
}

/**
 * One look at the slots: takes the steps that are due, serves the keys that result, and reports what this replica
 * publishes. Never throws.
 */
export const createSlotLook = ({ slots, serving, refreshKeys, audit, log }: SlotWatch): (() => Promise<void>) => {
  let failing = false
  const overdue = new Set<string>()

  let followed: { readonly generation: Generation; readonly versions: string } | undefined

  const follow = async (): Promise<void> => {
    const generation = serving()
    const versions = versionsOf(slots.records)
    if (followed?.generation !== generation || followed.versions !== versions) {
      const { checked, entries } = generation
      if (!isDeepStrictEqual(expandSlots(checked.config.keys, slots.records), entries)) await refreshKeys()
      followed = { generation: serving(), versions }
    }
    slots.followed()
    await slots.report(keysOf(serving()))
  }

  const watchPlans = async (): Promise<void> => {
    const { config } = serving().checked
    for (const slot of slotsOf(config)) {
      const situation = slots.situation(config, slot)
      const late = findOverdue(slot, slots.records.get(slot.slot) ?? newSlotRecord(slot.slot, situation.now), situation)
      if ((late !== undefined) === overdue.has(slot.slot)) continue
      if (late === undefined) {
        await audit.record({ event: 'slot.recovered', slot: slot.slot })
        overdue.delete(slot.slot)
        continue
      }
      const reason = slots.doubt ?? late.reason
      await audit.record({ event: 'slot.overdue', slot: slot.slot, since: isoTime(late.since), reason })
      log.error('A slot is overdue: its present key signs on', { slot: slot.slot, since: isoTime(late.since), reason })
      overdue.add(slot.slot)
    }
  }

  return async () => {
    const { checked, providers } = serving()
    try {
      await slots.read()
      // A replica whose configuration does not have the slots yet reports too: they wait until it publishes their keys.
      if (slotsOf(checked.config).length + slots.records.size === 0) return
      await follow()
      if (await slots.work(checked.config, providers)) await follow()
      await watchPlans()
      failing = false
    } catch (error) {
      // Readiness reports outages, so one log line is enough here.
      if (failing) return
      failing = true
      const expected = error instanceof Unavailable || error instanceof ConfigurationError
      log.error(
        'The slots of keys could not be followed',
        { reason: expected ? error.message : 'unknown' },
        expected ? undefined : error,
      )
    }
  }
}

/** Works at once, and then every five seconds for as long as the process serves. Returns a function that stops it. */
export const repeatWhileServing = (
  work: (signal: AbortSignal) => Promise<void>,
  intervalMs = lookMs,
): (() => Promise<void>) => {
  const stopping = new AbortController()
  let busy: Promise<void> | undefined
  const begin = (): void => {
    busy ??= work(stopping.signal).finally(() => (busy = undefined))
  }
  begin()
  const timer = setInterval(begin, intervalMs).unref()
  return async () => {
    clearInterval(timer)
    stopping.abort()
    await busy
  }
}
