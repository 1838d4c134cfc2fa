import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { JsonValue } from '../../json.js'
import type { EphemeralBackend, RecordLookup } from '../../storage/ports.js'
import { inOwnCollection, oddIds, oddRecords, type Describe, type Subject } from './subject.js'

type Cases = ReturnType<typeof inOwnCollection<RecordLookup<JsonValue>>>

const lifetimeCases = ({ it, store: records }: Cases, pass: Subject['pass']): void => {
  it('finds, replaces and removes', async () => {
    const id = randomUUID()
    equal(await records().find(id), undefined)
    equal(await records().put(id, { v: 1, old: true }), true)
    equal(await records().put(id, { v: 2 }), true)
    deepEqual(await records().find(id), { v: 2 })
    equal(await records().remove(id), true)
    equal(await records().remove(id), false)
    equal(await records().find(id), undefined)
  })

  it('keeps for ever without a time to live, and each put sets it again', async () => {
    const [a, b] = [randomUUID(), randomUUID()]
    await records().put(a, 1)
    await records().put(b, 1, { ttlSeconds: 60 })
    pass(59)
    await records().put(b, 2, { ttlSeconds: 60 })
    pass(59)
    equal(await records().find(b), 2)
    await records().put(b, 3, { ttlSeconds: 1 })
    pass(1)
    equal(await records().find(b), undefined)
    equal(await records().remove(b), false)
    await records().put(b, 4, { ttlSeconds: 1 })
    await records().put(b, 5)
    pass(10 * 365 * 86_400)
    equal(await records().find(a), 1)
    equal(await records().find(b), 5)
  })

  it('with onlyIfAbsent leaves what exists, and takes the place of what expired', async () => {
    const id = randomUUID()
    equal(await records().put(id, 1, { onlyIfAbsent: true, ttlSeconds: 60 }), true)
    equal(await records().put(id, 2, { onlyIfAbsent: true }), false)
    equal(await records().find(id), 1)
    pass(60)
    equal(await records().put(id, 3, { onlyIfAbsent: true }), true)
    equal(await records().find(id), 3)
  })
}

const parallelCases = ({ it, store: records }: Cases): void => {
  it('with onlyIfAbsent lets one of 50 parallel calls win', async () => {
    const id = randomUUID()
    const puts = await Promise.all(Array.from({ length: 50 }, (_, n) => records().put(id, n, { onlyIfAbsent: true })))
    equal(puts.filter(Boolean).length, 1)
    equal(await records().find(id), puts.indexOf(true))
  })

  it('lets one of 50 parallel removals find it', async () => {
    const id = randomUUID()
    await records().put(id, 1)
    const removals = await Promise.all(Array.from({ length: 50 }, () => records().remove(id)))
    equal(removals.filter(Boolean).length, 1)
  })

  it('holds one of the records that 50 parallel calls put', async () => {
    const id = randomUUID()
    const puts = await Promise.all(Array.from({ length: 50 }, (_, n) => records().put(id, n)))
    deepEqual(puts, Array(50).fill(true))
    const found = Number(await records().find(id))
    ok(Number.isInteger(found) && found >= 0 && found < 50)
  })
}

const contentCases = ({ it, store: records }: Cases, backend: () => EphemeralBackend): void => {
  for (const [what, id] of oddIds)
    it(`takes an id of ${what}`, async () => {
      equal(await records().find(id), undefined)
      await records().put(id, { id: 'this' })
      deepEqual(await records().find(id), { id: 'this' })
      equal(await records().remove(id), true)
    })

  it('keeps odd ids apart', async () => {
    for (const [index, [, id]] of oddIds.entries()) await records().put(id, index)
    for (const [index, [, id]] of oddIds.entries()) equal(await records().find(id), index)
  })

  it('finds nothing under an id that no record can have, and stores none', async () => {
    for (const id of ['', 'x'.repeat(513), 'x'.repeat(100_000)]) {
      equal(await records().find(id), undefined)
      equal(await records().remove(id), false)
      deepEqual(await backend().oneTime('contract_codes').redeem(id), { outcome: 'unknown' })
      await rejects(records().put(id, 1), RangeError)
    }
  })

  for (const [what, record] of oddRecords)
    it(`takes a record that is ${what}`, async () => {
      const id = randomUUID()
      await records().put(id, record)
      const found = await records().find(id)
      equal(JSON.stringify(found), JSON.stringify(record))
      await backend().oneTime<JsonValue>('contract_codes').put(id, record, 60)
      const redemption = await backend().oneTime<JsonValue>('contract_codes').redeem(id)
      equal(JSON.stringify(redemption), JSON.stringify({ outcome: 'won', record }))
    })

  it('gives each reader a record of its own', async () => {
    const id = randomUUID()
    const record = { list: [1] }
    await records().put(id, record)
    record.list.push(2)
    const found = (await records().find(id)) as { list: number[] }
    found.list.push(3)
    deepEqual(await records().find(id), { list: [1] })
  })
}

/** The part of the storage contract on records. */
export const recordCases = ({ backend, pass }: Subject<EphemeralBackend>, describe: Describe): void => {
  describe('records', (test) => {
    const cases = inOwnCollection(test, (name) => backend().records<JsonValue>(name))
    lifetimeCases(cases, pass)
    parallelCases(cases)
    contentCases(cases, backend)
  })
}
