import type { Config } from '../../../config/schema.js'
import { isSlot } from './expand-slots.js'
import type { SlotRecord } from './slot.js'

/**
 * Slots whose keys never sign, because a fixed key without an end stands before them and signs all that they sign, in
 * words for the operator. Pure.
 */
export const findShadowedSlots = (
  { keys }: Pick<Config, 'keys'>,
  records: ReadonlyMap<string, SlotRecord>,
): readonly string[] =>
  keys.flatMap((slot, index) => {
    if (!isSlot(slot)) return []
    const before = keys
      .slice(0, index)
      .find(
        (entry) =>
          !isSlot(entry) &&
          entry.alg === slot.alg &&
          entry.not_after === undefined &&
          slot.purposes.every((purpose) => entry.purposes.includes(purpose)),
      )
    if (before === undefined || isSlot(before)) return []
    const isAdopted = records.get(slot.slot)?.keys.some(({ kid }) => kid === before.kid) === true
    const advice = isAdopted ? 'the slot has adopted it: remove its entry from the file' : 'give it a not_after'
    return [`${before.kid} stands before the slot ${slot.slot} and signs for ever in its place: ${advice}`]
  })
