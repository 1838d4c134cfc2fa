import { describe, expect, it } from 'vitest'
import { adoptKey, releaseSlot, rotateSlot } from '../../core/administration/key-slots.js'
import { expandSlots } from '../../core/keys/slots/expand-slots.js'
import { dayMs, newSlotRecord, overlapMs, type SlotKey, type SlotRecord } from '../../core/keys/slots/slot.js'
import { takeLease, writeStep } from '../../core/keys/slots/slot-store.js'
import { openTestAdministration, operator, testNow, type TestAdministration } from '../support/administration.js'

const hour = 3_600_000

/** A deployment with the fixed keys a (ES256) and r (RS256), and the slot es. */
const withSlot = async (records: Partial<SlotRecord> | undefined = undefined): Promise<TestAdministration> => {
  const made = await openTestAdministration()
  const slot = {
    ...{ slot: 'es', alg: 'ES256' as const, signer: 'local', purposes: ['access_token' as const], ref: 'signet-{kid}' },
    rotate: { every_days: 90, announce_days: 14, ahead: 1, max_keys: 5 },
  }
  const config = { ...made.administration.config, keys: [slot, ...made.administration.config.keys] }
  if (records !== undefined) await made.stored.keySlots.put('es', { ...newSlotRecord('es', testNow), ...records })
  return { ...made, administration: { ...made.administration, config } }
}

const key = (number: number, more: Partial<SlotKey> = {}): SlotKey => ({
  ...{ number, kid: `es-${number}`, alg: 'ES256', signer: 'local', purposes: ['access_token'] },
  ...{ name: `signet-es-${number}`, ref: `signet-es-${number}`, step: 'signing', attempts: 1, planned_at: testNow },
  ...more,
})

const present = key(1, { not_before: testNow - 30 * dayMs })

const publish = ({ stored }: TestAdministration, kid: string, age: number, more = {}) =>
  stored.publications.put(kid, {
    ...{ thumbprint: `print-${kid}`, first_published: testNow - age, may_sign_from: testNow - age },
    ...{ jwk: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' } as const, ...more },
  })

describe('rotating a slot', () => {
  it('leaves a request for the service, in the audit log too', async () => {
    const { administration, stored, events } = await withSlot({ keys: [present], next_number: 2 })
    expect(await rotateSlot(administration, operator, { slot: 'es' })).toEqual({ slot: 'es' })
    expect(await stored.keySlots.find('es')).toMatchObject({ request: { at: testNow }, keys: [present] })
    expect(events.at(-1)).toMatchObject({ event: 'administration', action: 'key.rotate', slot: 'es', by: operator })
  })

  it('names the compromised key, and does not forget it for a later request', async () => {
    const { administration, stored } = await withSlot({ keys: [present, key(2)], next_number: 3 })
    const rotate = (compromised?: string) => rotateSlot(administration, operator, { slot: 'es', compromised })
    expect(await rotate('es-1')).toEqual({ slot: 'es' })
    expect(await rotate()).toEqual({ slot: 'es' })
    expect(await rotate('es-2')).toEqual({ refused: 'busy' })
    expect((await stored.keySlots.find('es'))?.request).toEqual({ at: testNow, compromised: 'es-1' })
  })

  it('is not overwritten by a step that was chosen before', async () => {
    const { administration, stored } = await withSlot({ keys: [present], next_number: 2 })
    const taken = await takeLease(stored.keySlots, 'es', 'one', testNow)
    await rotateSlot(administration, operator, { slot: 'es', compromised: 'es-1' })
    const write = writeStep(stored.keySlots, 'es', taken!.lease, testNow, ({ request: _gone, ...record }) => record)
    await expect(write).rejects.toThrow('has passed to another process')
    expect((await stored.keySlots.find('es'))?.request).toMatchObject({ compromised: 'es-1' })
  })

  it('refuses what it cannot do', async () => {
    const gone = key(1, { step: 'withdrawn' })
    const { administration, stored } = await withSlot({ keys: [gone, key(2)], next_number: 3 })
    const rotate = (slot: string, compromised?: string) => rotateSlot(administration, operator, { slot, compromised })
    expect(await rotate('se')).toEqual({ refused: 'unknown', reason: 'Did you mean es?' })
    expect(await rotate('payments')).toEqual({ refused: 'unknown' })
    expect(await rotate('es', 'a')).toEqual({ refused: 'unknown_key' })
    expect(await rotate('es', 'es-1')).toEqual({ refused: 'ended' })
    expect((await stored.keySlots.find('es'))?.request).toBeUndefined()
    await stored.keySlots.put('es', { ...newSlotRecord('es', testNow), keys: [key(2)], released: true })
    expect(await rotate('es')).toEqual({ refused: 'released' })
    await stored.keySlots.put('es', newSlotRecord('es', testNow))
    expect(await rotate('es')).toEqual({ refused: 'empty' })
  })
})

describe('adopting a fixed key', () => {
  it('makes it the first key of the slot, as it was published', async () => {
    const made = await withSlot()
    await publish(made, 'a', 30 * dayMs)
    const { administration, stored, events } = made
    expect(await adoptKey(administration, operator, { slot: 'es', kid: 'a' })).toEqual({ adopted: 'fixed' })
    const record = await stored.keySlots.find('es')
    expect(record).toMatchObject({ next_number: 1, fence: 1 })
    expect(record?.keys).toEqual([
      expect.objectContaining({
        ...{ number: 0, kid: 'a', alg: 'ES256', signer: 'local', ref: 'a.pem', step: 'signing', thumbprint: 'print-a' },
        ...{ not_before: testNow - 30 * dayMs, jwk: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' } },
      }),
    ])
    expect(record?.keys[0]).not.toHaveProperty('not_after')
    expect(record?.keys[0]?.purposes).toContain('id_token')
    expect(events.at(-1)).toMatchObject({ action: 'key.adopt', slot: 'es', kid: 'a' })
  })

  it('comes before the keys that the slot has made', async () => {
    const made = await withSlot({ keys: [key(1, { step: 'published' })], next_number: 2 })
    await publish(made, 'a', dayMs)
    await adoptKey(made.administration, operator, { slot: 'es', kid: 'a' })
    const { keys, next_number } = (await made.stored.keySlots.find('es'))!
    expect([keys.map(({ number, kid }) => [number, kid]), next_number]).toEqual([
      [
        [0, 'a'],
        [1, 'es-1'],
      ],
      2,
    ])
  })

  it('leaves an old key the time to announce its successor', async () => {
    const made = await withSlot()
    await publish(made, 'a', 1000 * dayMs)
    await adoptKey(made.administration, operator, { slot: 'es', kid: 'a' })
    const begun = (await made.stored.keySlots.find('es'))!.keys[0]!.not_before!
    expect(begun + 90 * dayMs - testNow).toBe(14 * dayMs + 2 * hour)
  })

  it('refuses a key that is not published, of another kind, unknown, or one too many', async () => {
    const made = await withSlot()
    const adopt = (kid: string, slot = 'es') => adoptKey(made.administration, operator, { slot, kid })
    expect(await adopt('a', 'ess')).toEqual({ refused: 'unknown', reason: 'Did you mean es?' })
    expect(await adopt('b')).toMatchObject({ refused: 'not_in_file' })
    expect(await adopt('a')).toEqual({ refused: 'unpublished' })
    await publish(made, 'a', dayMs, { withdrawn: testNow - 1 })
    expect(await adopt('a')).toEqual({ refused: 'unpublished' })
    await publish(made, 'r', dayMs)
    expect(await adopt('r')).toEqual({ refused: 'alg' })
    expect(await made.stored.keySlots.find('es')).toBeUndefined()
    await publish(made, 'a', dayMs)
    await made.stored.keySlots.put('es', { ...newSlotRecord('es', testNow), keys: [present], next_number: 2 })
    expect(await adopt('a')).toEqual({ refused: 'signing' })
  })
})

describe('adopting a key that only the backend knows', () => {
  it('lets the next step find the key that stopped the slot', async () => {
    const delay = { reason: 'the backend has it', since: testNow, failures: 1 }
    const { administration, stored } = await withSlot({
      keys: [key(1, { step: 'planned', attempts: 0 })],
      next_number: 2,
      delay,
    })
    expect(await adoptKey(administration, operator, { slot: 'es', kid: 'es-1' })).toEqual({ adopted: 'found' })
    const record = await stored.keySlots.find('es')
    expect(record?.keys).toMatchObject([{ kid: 'es-1', step: 'planned', attempts: 1 }])
    expect(record).not.toHaveProperty('delay')
    expect(await adoptKey(administration, operator, { slot: 'es', kid: 'es-1' })).toEqual({ refused: 'known' })
  })

  it('takes over a number that the records have lost, and none that was used', async () => {
    const made = await withSlot({ keys: [present], next_number: 2 })
    const adopt = (kid: string) => adoptKey(made.administration, operator, { slot: 'es', kid })
    expect(await adopt('es-4')).toEqual({ adopted: 'found' })
    expect(await made.stored.keySlots.find('es')).toMatchObject({
      next_number: 5,
      keys: [present, { number: 4, name: 'signet-es-4', step: 'planned', attempts: 1 }],
    })
    expect(await adopt('es-3')).toEqual({ refused: 'used' })
    await publish(made, 'es-7', dayMs)
    expect(await adopt('es-7')).toEqual({ refused: 'used' })
  })
})

describe('releasing a slot', () => {
  it('gives the entries with which its keys go on', async () => {
    const retired = key(1, { not_before: testNow - 91 * dayMs, not_after: testNow - 1 })
    const gone = key(0, { kid: 'old', not_before: 0, not_after: testNow - 90 * dayMs })
    const signing = key(2, { not_before: testNow - dayMs })
    const keys = [gone, retired, signing, key(3, { step: 'published' }), key(4, { step: 'planned' })]
    const { administration, stored } = await withSlot({ keys, next_number: 5, request: { at: testNow } })
    const change = testNow + 89 * dayMs
    const entry = { alg: 'ES256', signer: 'local', purposes: ['access_token'] }
    const release = () => releaseSlot(administration, operator, { slot: 'es' })
    const expected = {
      entries: [
        { ...entry, kid: 'es-3', ref: 'signet-es-3', not_before: change },
        { ...entry, kid: 'es-2', ref: 'signet-es-2', not_before: testNow - dayMs, not_after: change + overlapMs },
        { ...entry, kid: 'es-1', ref: 'signet-es-1', not_before: testNow - 91 * dayMs, not_after: testNow - 1 },
      ],
    }
    expect(await release()).toEqual(expected)
    expect(await release()).toEqual(expected)
    const record = await stored.keySlots.find('es')
    expect(record).toMatchObject({ released: true, keys })
    expect(record).not.toHaveProperty('request')
    // The keys stay in service while the file still has the slot.
    const kept = expandSlots(administration.config.keys, new Map([['es', record!]])).map(({ kid }) => kid)
    expect(kept).toEqual(expect.arrayContaining(['es-3', 'es-2', 'es-1']))
  })

  it('is undone by adopting the key that signs', async () => {
    const { administration, stored } = await withSlot({ keys: [present], next_number: 2, released: true })
    expect(await adoptKey(administration, operator, { slot: 'es', kid: 'es-9' })).toEqual({ refused: 'released' })
    expect(await adoptKey(administration, operator, { slot: 'es', kid: 'es-1' })).toEqual({ adopted: 'resumed' })
    expect(await stored.keySlots.find('es')).not.toHaveProperty('released')
  })

  it('needs a slot with a key', async () => {
    const { administration } = await withSlot()
    expect(await releaseSlot(administration, operator, { slot: 'es' })).toEqual({ refused: 'empty' })
    expect(await releaseSlot(administration, operator, { slot: 'e' })).toMatchObject({ refused: 'unknown' })
  })
})
