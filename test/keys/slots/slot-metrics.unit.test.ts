import { expect, it } from 'vitest'
import type { Config } from '../../../config/schema.js'
import { observeSlots } from '../../../core/host/instruments/slot-metrics.js'
import type { Situation } from '../../../core/keys/slots/next-step.js'
import { dayMs, newSlotRecord, type SlotKey, type SlotRecord } from '../../../core/keys/slots/slot.js'
import type { Observation } from '../../../core/observe/metrics.js'

const now = Date.parse('2026-12-01T00:00:00Z')
const entry = {
  ...{ slot: 'es', alg: 'ES256', signer: 'hsm', purposes: ['access_token'], ref: 'signet-{kid}' },
  rotate: { every_days: 90, announce_days: 14, ahead: 1, max_keys: 5 },
}
const config = { keys: [entry] } as unknown as Config
const key = (number: number, step: SlotKey['step'], more: Partial<SlotKey> = {}): SlotKey => ({
  ...{ number, kid: `es-${number}`, alg: 'ES256', signer: 'hsm', purposes: ['access_token'], name: `n-${number}` },
  ...{ step, attempts: 1, planned_at: now, ...more },
})
const situation: Situation = { now, readAt: now, replicas: [], othersSign: true, firstStart: false, retention: () => 0 }

/** The values of a slot with this record, by the metric's name and its labels but `slot`. */
const measure = (more: Partial<SlotRecord>, of = config): Record<string, number> => {
  const observations: Observation[] = []
  const record = { ...newSlotRecord('es', now), ...more }
  const slots = { records: new Map([['es', record]]), situation: () => situation }
  observeSlots({ observe: (one) => void observations.push(one as Observation) }, slots, () => of)
  const samples = observations.flatMap(({ name, read }) => [...read()].map((sample) => ({ name, ...sample })))
  return Object.fromEntries(
    samples.map(({ name, labels, value }) => [[name, labels?.['step']].filter(Boolean).join(' '), value]),
  )
}

it('a slot that keeps its plan counts its keys by step and the time until its change', () => {
  const keys = [
    key(1, 'signing', { not_before: now - 10 * dayMs }),
    key(2, 'published', { announced_at: now }),
    key(0, 'destroyed'),
  ]
  const values = measure({ keys })
  expect(values).toMatchObject({
    'signet_slot_keys signing': 1,
    'signet_slot_keys published': 1,
    'signet_slot_keys destroyed': 1,
    'signet_slot_keys planned': 0,
    signet_slot_overdue_seconds: 0,
    signet_slot_seconds_to_change: (80 * dayMs) / 1000,
    signet_slot_failures: 0,
    signet_slot_stuck: 0,
  })
})

it('a slot that is late says for how long, and whether it will try again', () => {
  const keys = [key(1, 'signing', { not_before: now - 100 * dayMs }), key(2, 'published', { announced_at: now })]
  const delay = { reason: 'away', since: now - dayMs, failures: 4 }
  const waiting = measure({ keys, delay: { ...delay, retry_at: now + 1 } })
  expect(waiting).toMatchObject({
    signet_slot_overdue_seconds: (10 * dayMs) / 1000,
    signet_slot_seconds_to_change: (-10 * dayMs) / 1000,
    signet_slot_failures: 4,
    signet_slot_stuck: 0,
  })
  expect(measure({ keys, delay })).toMatchObject({ signet_slot_stuck: 1 })
})

it('a released slot is not late, and a deployment without slots has no series', () => {
  const keys = [key(1, 'signing', { not_before: now - 100 * dayMs })]
  const released = measure({ keys, released: true })
  expect(released).toMatchObject({ signet_slot_overdue_seconds: 0 })
  expect(released).not.toHaveProperty('signet_slot_seconds_to_change')
  expect(measure({ keys }, { keys: [] } as unknown as Config)).toEqual({})
})
