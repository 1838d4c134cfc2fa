import type { Config } from '../../../config/schema.js'
import { stateAt } from '../key-states.js'
import { lifetimeOf, retention } from '../lifecycle/open-ring.js'
import { isFirstStart, type KeyPublications } from '../lifecycle/publications.js'
import { expandSlots, isSlot } from './expand-slots.js'
import type { Situation } from './next-step.js'
import type { ReplicaReport, Slot, SlotRecord } from './slot.js'

/** The records on which the situation of a slot depends. */
export interface KnownSlots {
  readonly records: ReadonlyMap<string, SlotRecord>
  readonly reports: readonly ReplicaReport[]
  readonly publications: KeyPublications
  /** When it was read, in milliseconds since the epoch. */
  readonly readAt: number
}

/** Whether keys outside `slot` sign each of its purposes with its algorithm. */
const doOthersSign = (
  config: Config,
  records: KnownSlots['records'],
  { slot, alg, purposes }: Slot,
  now: number,
): boolean => {
  const others = config.keys.filter((entry) => !isSlot(entry) || entry.slot !== slot)
  const active = expandSlots(others, records).filter((key) => stateAt(lifetimeOf(config, key), now) === 'active')
  return purposes.every((purpose) => active.some((key) => key.alg === alg && key.purposes.includes(purpose)))
}

/** What the next step of a slot depends on at `now`, in milliseconds since the epoch. Pure. */
export const situationOf = (
  config: Config,
  slot: Slot,
  { records, reports, publications, readAt }: KnownSlots,
  now: number,
): Situation => ({
  now,
  replicas: reports,
  readAt,
  // Both look through all keys, and a slot whose key signs needs neither.
  get othersSign() {
    return doOthersSign(config, records, slot, now)
  },
  get firstStart() {
    return isFirstStart(publications, now)
  },
  retention: (purposes) => retention(config, purposes) * 1000,
})
