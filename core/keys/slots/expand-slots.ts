import type { Config } from '../../../config/schema.js'
import type { InventoryEntry, KeyEntry } from '../lifecycle/inventory.js'
import { kidOf, type Slot, type SlotRecord } from './slot.js'

type Entries = Config['keys']

export const isSlot = (entry: Entries[number]): entry is Slot & Exclude<Entries[number], KeyEntry> => 'slot' in entry

export const slotsOf = ({ keys }: Pick<Config, 'keys'>) => keys.filter(isSlot)

/** The last time that a date can be: a waiting key signs when its slot says so, and never by the clock alone. */
export const waits = 8.64e15

/**
 * The inventory: fixed keys as they are, and in the place of each slot its published keys, the one that signs first.
 * A fixed entry of a key that a slot has taken over stands for it. Pure.
 */
export const expandSlots = (entries: Entries, records: ReadonlyMap<string, SlotRecord>): readonly InventoryEntry[] => {
  const fixed = new Set(entries.flatMap((entry) => (isSlot(entry) ? [] : [entry.kid])))
  return entries.flatMap((entry, index): readonly InventoryEntry[] => {
    const path = `keys[${String(index)}]`
    if (!isSlot(entry)) return [{ ...entry, path }]
    const record = records.get(entry.slot)
    // A released slot keeps its keys until the file names them.
    return (record?.keys ?? [])
      .filter(isPublished)
      .filter(({ kid }) => !fixed.has(kid))
      .toSorted((a, b) => b.number - a.number)
      .map(({ kid, alg, signer, purposes, ref = '', not_before = waits, not_after }) => ({
        ...{ path, kid, alg, signer, purposes: [...purposes], ref, not_before, allow_early: false },
        ...(not_after !== undefined && { not_after }),
      }))
  })
}

const isPublished = ({ step }: SlotRecord['keys'][number]): boolean => step === 'published' || step === 'signing'

/** Whether a `kid` could be given to a key of this slot. */
export const isKidOf = (slot: string, kid: string): boolean => {
  const number = Number(kid.slice(slot.length + 1))
  return Number.isSafeInteger(number) && number > 0 && kid === kidOf(slot, number)
}
