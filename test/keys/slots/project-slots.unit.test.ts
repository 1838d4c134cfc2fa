import { expect, it } from 'vitest'
import { countMonths, monthsFrom, type KeySpan } from '../../../core/keys/slots/monthly-load.js'
import type { Situation } from '../../../core/keys/slots/next-step.js'
import { projectSlot, type ProjectedKey } from '../../../core/keys/slots/project-slots.js'
import { dayMs, newSlotRecord, overlapMs, type Slot, type SlotKey } from '../../../core/keys/slots/slot.js'

const now = Date.parse('2026-12-01T00:00:00Z')
const until = Date.parse('2027-12-01T00:00:00Z')
const hour = 3_600_000

const slot = (more: Partial<Slot['rotate']> = {}): Slot => ({
  ...{ slot: 'es', alg: 'ES256', signer: 'hsm', purposes: ['access_token'], ref: 'signet-{kid}' },
  rotate: { every_days: 90, announce_days: 14, ahead: 1, max_keys: 5, ...more },
})

const key = (number: number, more: Partial<SlotKey> = {}): SlotKey => ({
  ...{ number, kid: `es-${number}`, alg: 'ES256', signer: 'hsm', purposes: ['access_token'], name: `n-${number}` },
  ...{ ref: `n-${number}`, step: 'signing', attempts: 1, planned_at: now - 40 * dayMs },
  ...more,
})

const situation = (more: Partial<Situation> = {}): Situation => ({
  ...{ now, readAt: now, replicas: [], othersSign: false, firstStart: false, retention: () => hour },
  ...more,
})

const project = (
  of: Slot,
  keys: readonly SlotKey[],
  more: { record?: object; situation?: Partial<Situation>; isTaken?: (kid: string) => boolean } = {},
): readonly ProjectedKey[] =>
  projectSlot(
    of,
    {
      ...newSlotRecord('es', now),
      keys,
      next_number: Math.max(0, ...keys.map(({ number }) => number)) + 1,
      ...more.record,
    },
    situation(more.situation),
    { until, isTaken: more.isTaken ?? (() => false) },
  )

/** Days from now. */
const days = (time: number | undefined): number | undefined =>
  time === undefined ? undefined : Math.round(((time - now) / dayMs) * 1000) / 1000

const table = (keys: readonly ProjectedKey[]) =>
  keys.map(({ kid, expected, made_at, not_before, not_after }) => [
    kid,
    expected,
    days(made_at),
    days(not_before),
    days(not_after === undefined ? undefined : not_after - overlapMs),
  ])

const present = key(1, { not_before: now - 30 * dayMs })
const waiting = key(2, { step: 'published', planned_at: now - 30 * dayMs, announced_at: now - 30 * dayMs })

it('the slot changes its key each period, and each key is made when the one before it begins', () => {
  expect(table(project(slot(), [present, waiting]))).toEqual([
    ['es-1', false, -40, -30, 60],
    ['es-2', false, -30, 60, 150],
    ['es-3', true, 60, 150, 240],
    ['es-4', true, 150, 240, 330],
    ['es-5', true, 240, 330, 420],
    ['es-6', true, 330, 420, undefined],
  ])
})

it('several keys wait, or none until the announcement', () => {
  expect(table(project(slot({ ahead: 2 }), [present, waiting])).slice(2, 4)).toEqual([
    ['es-3', true, 0, 150, 240],
    ['es-4', true, 60, 240, 330],
  ])
  const none = table(project(slot({ ahead: 0 }), [present]))
  expect(none.slice(1, 3)).toEqual([
    ['es-2', true, 45.917, 60, 150],
    ['es-3', true, 135.917, 150, 240],
  ])
})

it('a late key begins when it was announced for long enough, and the plan follows it', () => {
  const old = key(1, { not_before: now - 100 * dayMs })
  expect(table(project(slot(), [old])).slice(0, 3)).toEqual([
    ['es-1', false, -40, -100, 14],
    ['es-2', true, 0, 14, 104],
    ['es-3', true, 14, 104, 194],
  ])
  const requested = project(slot(), [present, waiting], { record: { request: { at: now } } })
  expect(table(requested).slice(0, 3)).toEqual([
    ['es-1', false, -40, -30, 0],
    ['es-2', false, -30, 0, 90],
    ['es-3', true, 0, 90, 180],
  ])
})

it('the first key of a deployment begins at once, and a taken number is skipped', () => {
  const first = project(slot(), [], { situation: { firstStart: true }, isTaken: (kid) => kid === 'es-1' })
  expect(table(first).slice(0, 2)).toEqual([
    ['es-2', true, 0, 0, 90],
    ['es-3', true, 0, 90, 180],
  ])
})

it('what will be given up or was withdrawn stays in the backend, and a released slot makes nothing', () => {
  const foreign = key(3, { step: 'published', signer: 'local' })
  const gone = key(0, { kid: 'es-0', step: 'withdrawn', ended_at: now - dayMs })
  const destroyed = key(4, { step: 'destroyed' })
  const withoutRef = ({ ref: _ref, ...unmade }: SlotKey): SlotKey => unmade
  const never = withoutRef(key(5, { step: 'abandoned', attempts: 0 }))
  const keys = project(slot({ destroy_after_days: 30 }), [gone, present, foreign, destroyed, never])
  expect(keys.filter(({ expected }) => !expected).map(({ kid }) => kid)).toEqual(['es-0', 'es-3', 'es-1'])
  expect(days(keys[0]!.removed_at)).toBe(59)
  const one = keys.find(({ kid }) => kid === 'es-1')!
  expect(one.removed_at).toBe(one.not_after! + hour + 60 * dayMs)
  expect(project(slot(), [present, waiting], { record: { released: true } }).map(({ kid }) => kid)).toEqual([
    'es-2',
    'es-1',
  ])
})

it('each month has the most keys of a signer, its probes and the proofs of new keys', () => {
  const span = (more: Partial<KeySpan>): KeySpan => ({
    ...{ signer: 'hsm', expected: false, made_at: now, removed_at: Infinity, begins: -Infinity, ends: Infinity },
    ...more,
  })
  const middle = Date.parse('2027-01-16T00:00:00Z')
  const bounds = monthsFrom(now, 2)
  expect(bounds.map((time) => new Date(time).toISOString().slice(0, 10))).toEqual([
    '2026-12-01',
    '2027-01-01',
    '2027-02-01',
  ])
  const spans = [
    span({ made_at: -Infinity, ends: middle, removed_at: middle }),
    span({ made_at: middle, expected: true, begins: middle + dayMs }),
    span({ signer: 'kms' }),
  ]
  const perDay = 86_400 / 30
  expect(countMonths(spans, bounds, (signer) => (signer === 'kms' ? 300_000 : 30_000), 2)).toEqual([
    { month: '2026-12', signer: 'hsm', keys: 1, new_keys: 0, probes: 2 * 31 * perDay, proofs: 0 },
    { month: '2026-12', signer: 'kms', keys: 1, new_keys: 0, probes: 2 * 31 * (perDay / 10), proofs: 0 },
    { month: '2027-01', signer: 'hsm', keys: 1, new_keys: 1, probes: 2 * 31 * perDay, proofs: 11 },
    { month: '2027-01', signer: 'kms', keys: 1, new_keys: 0, probes: 2 * 31 * (perDay / 10), proofs: 0 },
  ])
})
