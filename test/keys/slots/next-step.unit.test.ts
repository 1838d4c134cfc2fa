import { describe, expect, it } from 'vitest'
import { findOverdue, nextStep, type Situation } from '../../../core/keys/slots/next-step.js'
import {
  dayMs,
  newSlotRecord,
  type ReplicaReport,
  type Slot,
  type SlotKey,
  type SlotRecord,
} from '../../../core/keys/slots/slot.js'

const now = Date.parse('2026-11-26T00:00:00Z')
const hour = 3_600_000
const slot: Slot = {
  slot: 'es',
  alg: 'ES256',
  signer: 'hsm',
  purposes: ['access_token'],
  ref: 'signet-{kid}',
  rotate: { every_days: 90, announce_days: 14, ahead: 1, max_keys: 5 },
}
const key = (number: number, more: Partial<SlotKey> = {}): SlotKey => ({
  number,
  kid: `es-${String(number)}`,
  alg: 'ES256',
  signer: 'hsm',
  purposes: ['access_token'],
  name: `signet-es-${String(number)}`,
  ref: `r${String(number)}`,
  step: 'published',
  attempts: 1,
  planned_at: now - dayMs,
  ...more,
})
const signing = (number: number, days: number, more: Partial<SlotKey> = {}) =>
  key(number, { step: 'signing', not_before: now - days * dayMs, ...more })
const waiting = (number: number, more: Partial<SlotKey> = {}) =>
  key(number, { announced_at: now - 30 * dayMs, ...more })

const record = (keys: readonly SlotKey[], more: Partial<SlotRecord> = {}): SlotRecord => ({
  ...newSlotRecord('es', now - 200 * dayMs),
  keys,
  next_number: keys.length + 1,
  ...more,
})
const replica = (name: string, kids: readonly string[], more: Partial<ReplicaReport> = {}): ReplicaReport => ({
  ...{ replica: name, host: name, pid: 7, at: now - 5000, published: kids, proved: kids },
  ...more,
})
const situation = (more: Partial<Situation> = {}): Situation => ({
  now,
  readAt: now,
  replicas: [replica('a', ['es-1', 'es-2'])],
  othersSign: false,
  firstStart: false,
  retention: () => hour,
  ...more,
})
const steps = (known: SlotRecord, more: Partial<Situation> = {}, of: Slot = slot) => {
  const step = nextStep(of, known, situation(more))
  if (step === undefined) return undefined
  return 'key' in step ? `${step.do} ${step.key.kid}` : step.do
}

describe('the next step of a slot', () => {
  it('makes a key from the plan to its publication, one step at a time', () => {
    expect(steps(record([]))).toBe('plan')
    expect(steps(record([key(1, { step: 'planned' })]))).toBe('make es-1')
    expect(steps(record([key(1, { step: 'made' })]))).toBe('prove es-1')
    expect(steps(record([key(1, { step: 'proved' })]))).toBe('publish es-1')
  })

  it('whose keys a ceremony makes neither plans, makes nor proves one, and does all that comes after', () => {
    const of: Slot = { ...slot, rotate: { ...slot.rotate, by: 'ceremony' } }
    expect(steps(record([]), {}, of)).toBeUndefined()
    expect(steps(record([signing(1, 89)]), {}, of)).toBeUndefined()
    expect(steps(record([signing(1, 89), key(2, { step: 'planned' })]), {}, of)).toBeUndefined()
    expect(steps(record([signing(1, 89), key(2, { step: 'made' })]), {}, of)).toBeUndefined()
    expect(steps(record([signing(1, 89), key(2, { step: 'made' }), key(3, { step: 'proved' })]), {}, of)).toBe(
      'publish es-3',
    )
    expect(steps(record([signing(1, 89), key(2)]), {}, of)).toBe('announce es-2')
    expect(steps(record([signing(1, 91), waiting(2)]), {}, of)).toBe('switch es-2')
    expect(steps(record([key(1, { step: 'planned', alg: 'RS256' })]), {}, of)).toBe('abandon es-1')
  })

  it('that a ceremony has to take is waited for in these words, and is overdue when it is late', () => {
    const of: Slot = { ...slot, rotate: { ...slot.rotate, by: 'ceremony' } }
    for (const keys of [[signing(1, 80)], [signing(1, 80), key(2, { step: 'made' })]])
      expect(findOverdue(of, record(keys), situation())).toEqual({
        since: now - 4 * dayMs,
        reason: 'it waits for a ceremony',
      })
  })

  it('lets the first key of a deployment sign at once', () => {
    expect(steps(record([key(1)]), { firstStart: true, replicas: [] })).toBe('switch es-1')
    expect(steps(record([key(1)]), { replicas: [] })).toBeUndefined()
  })

  it('KR05 announces a key when every live replica publishes it', () => {
    const known = record([signing(1, 3), key(2)])
    expect(steps(known)).toBe('announce es-2')
    const late = replica('b', ['es-1'])
    expect(steps(known, { replicas: [replica('a', ['es-1', 'es-2']), late] })).toBeUndefined()
    const silent = { ...late, at: now - 61_000 }
    expect(steps(known, { replicas: [replica('a', ['es-1', 'es-2']), silent] })).toBe('announce es-2')
    expect(steps(known, { replicas: [silent] })).toBeUndefined()
  })

  it('changes keys after the period, when the next one was announced for long enough and is proved everywhere', () => {
    const next = waiting(2)
    expect(steps(record([signing(1, 89.9), next]))).toBeUndefined()
    expect(steps(record([signing(1, 90), next]))).toBe('switch es-2')
    expect(steps(record([signing(1, 90), waiting(2, { announced_at: now - 13 * dayMs })]))).toBeUndefined()
    const unproved = replica('b', ['es-1', 'es-2'], { proved: ['es-1'] })
    expect(steps(record([signing(1, 90), next]), { replicas: [unproved] })).toBeUndefined()
  })

  it('keeps a key waiting, and makes one in time where none has to wait', () => {
    expect(steps(record([signing(1, 0)]))).toBe('plan')
    const bare = { ...slot, rotate: { ...slot.rotate, ahead: 0 } }
    expect(steps(record([signing(1, 70)]), {}, bare)).toBeUndefined()
    expect(steps(record([signing(1, 76)]), {}, bare)).toBe('plan')
  })

  it('changes keys on request as soon as caches must know the next one', () => {
    const request = { at: now }
    expect(steps(record([signing(1, 3), waiting(2)], { request }))).toBe('switch es-2')
    const fresh = waiting(2, { announced_at: now - hour })
    expect(steps(record([signing(1, 3), fresh], { request }))).toBeUndefined()
    const known = waiting(2, { announced_at: now - hour - 60_000 })
    expect(steps(record([signing(1, 3), known], { request }))).toBe('switch es-2')
  })

  it('KR12 withdraws a compromised key: at once when it does not sign, and else after its successor has begun', () => {
    const request = { at: now, compromised: 'es-1' }
    expect(steps(record([signing(1, 3), waiting(2)], { request }))).toBe('switch es-2')
    expect(steps(record([signing(1, 3, { not_after: now + hour }), signing(2, 0)], { request }))).toBe('withdraw es-1')
    const retired = [signing(1, 3, { not_after: now - 1 }), signing(2, 2), waiting(3)]
    const three = [replica('a', ['es-1', 'es-2', 'es-3'])]
    expect(steps(record(retired, { request }), { replicas: three })).toBe('withdraw es-1')
    const next = { at: now, compromised: 'es-2' }
    expect(steps(record([signing(1, 3), waiting(2)], { request: next }))).toBe('withdraw es-2')
    expect(steps(record([signing(1, 3), key(2, { step: 'withdrawn' })], { request: next }))).toBe('plan')
  })

  it('KR13 gives up a waiting key that the configuration does not ask for any more', () => {
    const changed = { ...slot, signer: 'kms' }
    expect(steps(record([signing(1, 3), waiting(2)]), {}, changed)).toBe('abandon es-2')
    expect(steps(record([signing(1, 95), waiting(2)]), {}, changed)).toBe('abandon es-2')
    expect(steps(record([signing(1, 3), waiting(2, { step: 'abandoned' })]), {}, changed)).toBe('plan')
  })

  it('KR10 makes no key beyond max_keys', () => {
    const small = { ...slot, rotate: { ...slot.rotate, max_keys: 2 } }
    const retired = signing(1, 91, { not_after: now - hour / 2 })
    expect(steps(record([retired, signing(2, 0)]), {}, small)).toBeUndefined()
    expect(steps(record([{ ...retired, not_after: now - hour }, signing(2, 0)]), {}, small)).toBe('plan')
  })

  it('does not try again before its time, and changes keys all the same', () => {
    const delay = { reason: 'the token is away', since: now - hour, failures: 2, retry_at: now + 1 }
    const known = record([signing(1, 90), waiting(2), key(3, { step: 'planned' })], { delay })
    expect(steps(known)).toBe('switch es-2')
    expect(steps(record([signing(1, 3), key(2, { step: 'planned' })], { delay }))).toBeUndefined()
    expect(steps(record([signing(1, 3), key(2, { step: 'planned' })], { delay }), { now: now + 1 })).toBe('make es-2')
  })

  it('skips a number that waits for an operator, when one asks for the next key', () => {
    const delay = { reason: 'known already', since: now - hour, failures: 1 }
    const keys = [signing(1, 3), key(2, { step: 'planned' })]
    expect(steps(record(keys, { delay }))).toBeUndefined()
    expect(steps(record(keys, { delay, request: { at: now } }))).toBe('abandon es-2')
    expect(steps(record(keys, { delay, request: { at: now - 2 * hour } }))).toBeUndefined()
  })

  it('removes a key in two steps, where it is told to', () => {
    const removing = { ...slot, rotate: { ...slot.rotate, destroy_after_days: 7 } }
    const gone = signing(1, 100, { not_after: now - 7 * dayMs - hour })
    const keys = (first: SlotKey) => record([first, signing(2, 10), waiting(3)])
    expect(steps(keys(gone))).toBeUndefined()
    expect(steps(keys(gone), {}, removing)).toBe('disable es-1')
    const disabled = { ...gone, step: 'disabled' as const, ended_at: now - 7 * dayMs }
    expect(steps(keys(disabled), {}, removing)).toBe('destroy es-1')
    expect(steps(keys({ ...disabled, ended_at: now - 6 * dayMs }), {}, removing)).toBeUndefined()
    expect(steps(keys({ ...gone, not_after: now - 6 * dayMs }), {}, removing)).toBeUndefined()
  })

  it('does nothing for a slot that was released', () => {
    expect(steps(record([signing(1, 95), waiting(2)], { released: true }))).toBeUndefined()
  })
})

describe('a slot that is late', () => {
  it('says since when, and what it waits for', () => {
    const known = record([signing(1, 91), waiting(2)])
    const unproved = [replica('b', ['es-1', 'es-2'], { proved: ['es-1'] })]
    expect(findOverdue(slot, known, situation({ replicas: unproved }))).toEqual({
      since: now - dayMs,
      reason: 'es-2 is not proved yet by b (process 7)',
    })
  })

  it('is late when its next key is not announced in time', () => {
    const delay = { reason: 'the token is full', since: now - dayMs, failures: 9, retry_at: now + hour }
    const known = record([signing(1, 77), key(2, { step: 'planned' })], { delay })
    expect(findOverdue(slot, known, situation())).toEqual({ since: now - dayMs, reason: 'the token is full' })
  })

  it('whose next key is ready waits for a replica that has looked for a minute', () => {
    const known = record([signing(1, 91), waiting(2)])
    expect(findOverdue(slot, known, situation())).toEqual({
      since: now - dayMs,
      reason: 'es-2 is ready, and signs once a replica has looked for a minute',
    })
  })

  it('keeps its plan until then', () => {
    expect(findOverdue(slot, record([signing(1, 89), waiting(2)]), situation())).toBeUndefined()
    expect(findOverdue(slot, record([signing(1, 3), key(2)]), situation())).toBeUndefined()
  })
})
