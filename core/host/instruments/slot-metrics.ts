import type { Config } from '../../../config/schema.js'
import { slotsOf } from '../../keys/slots/expand-slots.js'
import { findOverdue, plannedEnd, signingKey, type Situation } from '../../keys/slots/next-step.js'
import { newSlotRecord, type Slot, type SlotRecord } from '../../keys/slots/slot.js'
import type { Sample } from '../../observe/counts.js'
import type { Metrics } from '../../observe/metrics.js'
import type { SlotSource } from '../slot-source.js'
import { gauge } from './key-metrics.js'

const steps = [
  ...(['planned', 'made', 'proved', 'published', 'signing'] as const),
  ...(['withdrawn', 'abandoned', 'disabled', 'destroyed'] as const),
] as const satisfies readonly SlotRecord['keys'][number]['step'][]

/** Reports the slots of the configuration in force, as this process last read their records. */
export const observeSlots = (
  metrics: Pick<Metrics, 'observe'>,
  slots: Pick<SlotSource, 'records' | 'situation'>,
  config: () => Config,
): void => {
  const ofSlots =
    (read: (slot: Slot, record: SlotRecord, situation: Situation) => readonly Sample[] | number | undefined) =>
    (): Sample[] =>
      slotsOf(config()).flatMap((slot): readonly Sample[] => {
        const situation = slots.situation(config(), slot)
        const found = read(slot, slots.records.get(slot.slot) ?? newSlotRecord(slot.slot, situation.now), situation)
        if (typeof found !== 'number') return found ?? []
        return [{ labels: { slot: slot.slot }, value: found }]
      })

  const observations = [
    gauge(
      'signet_slot_keys',
      'Keys of the slot by step.',
      ['slot', 'step'],
      ofSlots(({ slot }, { keys }) =>
        steps.map((step) => ({ labels: { slot, step }, value: keys.filter((key) => key.step === step).length })),
      ),
    ),
    gauge(
      'signet_slot_overdue_seconds',
      'Seconds for which the slot has been late; 0 while it keeps its plan.',
      ['slot'],
      ofSlots((slot, record, situation) => {
        const late = findOverdue(slot, record, situation)
        return late === undefined ? 0 : (situation.now - late.since) / 1000
      }),
    ),
    gauge(
      'signet_slot_seconds_to_change',
      'Seconds until the present key is planned to end; negative when it is late.',
      ['slot'],
      ofSlots((slot, record, { now }) => {
        const present = record.released === true ? undefined : signingKey(record)
        return present && (plannedEnd(slot, present) - now) / 1000
      }),
    ),
    gauge(
      'signet_slot_failures',
      'Failed attempts at the next step since the last one that succeeded.',
      ['slot'],
      ofSlots((_, { delay }) => delay?.failures ?? 0),
    ),
    gauge(
      'signet_slot_stuck',
      '1 while the slot waits for an operator.',
      ['slot'],
      ofSlots((_, { delay }) => (delay !== undefined && delay.retry_at === undefined ? 1 : 0)),
    ),
  ]
  for (const observation of observations) metrics.observe(observation)
}
