import { deepEqual, equal, rejects } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { JsonValue } from '../../json.js'
import type { RecordStore, StorageBackend } from '../../storage/ports.js'
import { inOwnCollection, oddIds, oddRecords, type Describe, type It, type Subject } from './subject.js'

interface Cases {
  readonly it: It
  readonly records: () => RecordStore<JsonValue>
}

const singleCases = ({ it, records }: Cases, { clock, pass }: Subject): void => {
  const keptUntil = (id: string) => records().update(id, (_, expiresAt) => ({ result: expiresAt }))

  it('shows the record and its time, and changes nothing unless asked to', async () => {
    const id = randomUUID()
    deepEqual(await records().update(id, (...given) => ({ result: given })), [undefined, undefined])
    equal(await records().find(id), undefined)
    await records().put(id, { v: 1 })
    deepEqual(await records().update(id, (...given) => ({ result: given })), [{ v: 1 }, undefined])
    await records().put(id, { v: 2 }, { ttlSeconds: 60 })
    equal(Math.abs(((await keptUntil(id)) ?? 0) - clock() - 60_000) <= 1, true)
    deepEqual(await records().find(id), { v: 2 })
  })

  it('replaces a record until a time or for ever, makes one, and removes one', async () => {
    const id = randomUUID()
    const write = (record: JsonValue, expiresAt?: number) =>
      records().update(id, () => ({ result: 'written', write: { record, expiresAt } }))
    equal(await write(1, clock() + 60_000), 'written')
    equal(await records().find(id), 1)
    pass(60)
    equal(await records().find(id), undefined)
    deepEqual(await records().update(id, (...given) => ({ result: given })), [undefined, undefined])
    await write(2, clock() + 60_000)
    await write(3)
    equal(await keptUntil(id), undefined)
    pass(10 * 365 * 86_400)
    equal(await records().find(id), 3)
    await write(4, clock() + 1000)
    pass(1)
    equal(await records().find(id), undefined)
    await write(5)
    const remove = () => records().update(id, (current) => ({ result: current ?? 'nothing', write: null }))
    equal(await remove(), 5)
    equal(await remove(), 'nothing')
    equal(await records().find(id), undefined)
  })

  it('changes nothing when the caller throws, and passes on what it throws', async () => {
    const id = randomUUID()
    await records().put(id, 1)
    const failure = new RangeError('of the caller')
    const failing = records().update(id, () => {
      throw failure
    })
    await rejects(failing, (error) => error === failure)
    equal(await records().find(id), 1)
  })
}

const parallelCases = ({ it, records }: Cases, { backend, open, pass }: Subject, collection: () => string): void => {
  it('counts each of 50 parallel changes once, also of two backends and when an old record just expired', async () => {
    const id = randomUUID()
    await using other = await open()
    await records().put(id, 1000, { ttlSeconds: 1 })
    pass(1)
    const add = (from: Pick<StorageBackend, 'records'>) =>
      from.records<number>(collection()).update(id, (current = 0) => ({
        result: current + 1,
        write: { record: current + 1 },
      }))
    const counted = await Promise.all(Array.from({ length: 50 }, (_, n) => add(n % 2 === 0 ? backend() : other)))
    deepEqual(
      counted.toSorted((a, b) => a - b),
      Array.from({ length: 50 }, (_, n) => n + 1),
    )
  })

  it('lets one of 50 parallel changes of what they saw win, and none bring back what was removed', async () => {
    const id = randomUUID()
    await records().put(id, 'seen')
    const changes = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        records().update(id, (current) =>
          current === 'seen' ? { result: true, write: n % 2 === 0 ? null : { record: n } } : { result: false },
        ),
      ),
    )
    equal(changes.filter(Boolean).length, 1)
    const winner = changes.indexOf(true)
    equal(await records().find(id), winner % 2 === 0 ? undefined : winner)
  })
}

const contentCases = ({ it, records }: Cases): void => {
  for (const [what, record] of oddRecords)
    it(`changes a record that is ${what}`, async () => {
      const id = randomUUID()
      await records().put(id, record)
      const seen = await records().update(id, (current) => ({
        result: JSON.stringify(current),
        write: { record: 1 },
      }))
      equal(seen, JSON.stringify(record))
      await records().update(id, () => ({ result: undefined, write: { record } }))
      equal(JSON.stringify(await records().find(id)), JSON.stringify(record))
    })

  it('changes under odd ids, and refuses those that no record can have', async () => {
    for (const [index, [, id]] of oddIds.entries())
      await records().update(id, () => ({ result: undefined, write: { record: index } }))
    for (const [index, [, id]] of oddIds.entries()) equal(await records().find(id), index)
    for (const id of ['', 'x'.repeat(513)])
      await rejects(
        records().update(id, () => ({ result: undefined })),
        RangeError,
      )
  })
}

/** The part of the storage contract about records that many change concurrently. */
export const changeCases = (subject: Subject, describe: Describe): void => {
  describe('changes of records', (test) => {
    const { it, store: collection } = inOwnCollection(test, (name) => name)
    const cases = { it, records: () => subject.backend().records<JsonValue>(collection()) }
    singleCases(cases, subject)
    parallelCases(cases, subject, collection)
    contentCases(cases)
  })
}
