import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonValue } from '../../core/json.js'
import { newCollection, oddIds, oddRecords, type Subject } from './storage-contract-subject.js'

/** The part of the storage contract on records. Called by `storageContract`. */
export const recordContract = ({ backend, pass }: Subject): void => {
  describe('records', () => {
    let records = () => backend().records<JsonValue>('contract_records')
    beforeEach(() => {
      const collection = newCollection()
      records = () => backend().records<JsonValue>(collection)
    })

    it('finds, replaces and removes', async () => {
      const id = randomUUID()
      expect(await records().find(id)).toBeUndefined()
      expect(await records().put(id, { v: 1, old: true })).toBe(true)
      expect(await records().put(id, { v: 2 })).toBe(true)
      expect(await records().find(id)).toEqual({ v: 2 })
      expect(await records().remove(id)).toBe(true)
      expect(await records().remove(id)).toBe(false)
      expect(await records().find(id)).toBeUndefined()
    })

    it('keeps for ever without a time to live, and each put sets it anew', async () => {
      const [a, b] = [randomUUID(), randomUUID()]
      await records().put(a, 1)
      await records().put(b, 1, { ttlSeconds: 60 })
      pass(59)
      await records().put(b, 2, { ttlSeconds: 60 })
      pass(59)
      expect(await records().find(b)).toBe(2)
      await records().put(b, 3, { ttlSeconds: 1 })
      pass(1)
      expect(await records().find(b)).toBeUndefined()
      expect(await records().remove(b)).toBe(false)
      await records().put(b, 4, { ttlSeconds: 1 })
      await records().put(b, 5)
      pass(10 * 365 * 86_400)
      expect(await records().find(a)).toBe(1)
      expect(await records().find(b)).toBe(5)
    })

    it('with onlyIfAbsent leaves what exists, and takes the place of what expired', async () => {
      const id = randomUUID()
      expect(await records().put(id, 1, { onlyIfAbsent: true, ttlSeconds: 60 })).toBe(true)
      expect(await records().put(id, 2, { onlyIfAbsent: true })).toBe(false)
      expect(await records().find(id)).toBe(1)
      pass(60)
      expect(await records().put(id, 3, { onlyIfAbsent: true })).toBe(true)
      expect(await records().find(id)).toBe(3)
    })

    it('with onlyIfAbsent lets one of 50 parallel calls win', async () => {
      const id = randomUUID()
      const puts = await Promise.all(Array.from({ length: 50 }, (_, n) => records().put(id, n, { onlyIfAbsent: true })))
      expect(puts.filter(Boolean)).toHaveLength(1)
      expect(await records().find(id)).toBe(puts.indexOf(true))
    })

    it('lets one of 50 parallel removals find it', async () => {
      const id = randomUUID()
      await records().put(id, 1)
      const removals = await Promise.all(Array.from({ length: 50 }, () => records().remove(id)))
      expect(removals.filter(Boolean)).toHaveLength(1)
    })

    it('holds one of the records that 50 parallel calls put', async () => {
      const id = randomUUID()
      const puts = await Promise.all(Array.from({ length: 50 }, (_, n) => records().put(id, n)))
      expect(puts).toEqual(Array(50).fill(true))
      expect(await records().find(id)).toSatisfy((n) => Number.isInteger(n) && n >= 0 && n < 50)
    })

    it('lists in the order of code points, page by page, without what expired', async () => {
      const ids = ['a', 'a\0', 'a\0b', 'aa', 'b', 'ba', 'Z', 'é', '漢', '\uffff', '👩', '0', '10', '9']
      for (const id of ids) await records().put(id, { id })
      await records().put('ab', 'expires', { ttlSeconds: 1 })
      pass(1)
      const byCodePoint = ids.toSorted((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)))
      const all = byCodePoint.map((id) => ({ id, record: { id } }))
      expect(await records().list(undefined, 100)).toEqual(all)
      for (const size of [1, 3, 14]) {
        const listed = []
        for (let after: string | undefined; ;) {
          const page = await records().list(after, size)
          expect(page.length).toBeLessThanOrEqual(size)
          listed.push(...page)
          if (page.length < size) break
          after = page.at(-1)!.id
        }
        expect(listed).toEqual(all)
      }
    })

    it('lists from after an id that is not there, or no more', async () => {
      for (const id of ['a', 'c', 'e']) await records().put(id, id)
      await records().remove('c')
      expect(await records().list('b', 10)).toEqual([{ id: 'e', record: 'e' }])
      expect(await records().list('c', 10)).toEqual([{ id: 'e', record: 'e' }])
      expect(await records().list('e', 10)).toEqual([])
      expect(await records().list(undefined, 0)).toEqual([])
    })

    it.each(oddIds)('takes an id of %s', async (_, id) => {
      expect(await records().find(id)).toBeUndefined()
      await records().put(id, { id: 'this' })
      expect(await records().find(id)).toEqual({ id: 'this' })
      expect(await records().list(undefined, 10)).toEqual([{ id, record: { id: 'this' } }])
      expect(await records().remove(id)).toBe(true)
    })

    it('keeps odd ids apart', async () => {
      for (const [index, [, id]] of oddIds.entries()) await records().put(id, index)
      for (const [index, [, id]] of oddIds.entries()) expect(await records().find(id)).toBe(index)
      const listed = await records().list(undefined, 100)
      expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(oddIds.map(([, id]) => id)))
    })

    it('finds nothing under an id that no record can have, and stores none', async () => {
      for (const id of ['', 'x'.repeat(513), 'x'.repeat(100_000)]) {
        expect(await records().find(id)).toBeUndefined()
        expect(await records().remove(id)).toBe(false)
        expect(await backend().oneTime('contract_codes').redeem(id)).toEqual({ outcome: 'unknown' })
        await expect(records().put(id, 1)).rejects.toThrow(RangeError)
      }
    })

    it.each(oddRecords)('takes a record that is %s', async (_, record) => {
      const id = randomUUID()
      await records().put(id, record)
      const found = await records().find(id)
      expect(JSON.stringify(found)).toBe(JSON.stringify(record))
      await backend().oneTime<JsonValue>('contract_codes').put(id, record, 60)
      const redemption = await backend().oneTime<JsonValue>('contract_codes').redeem(id)
      expect(JSON.stringify(redemption)).toBe(JSON.stringify({ outcome: 'won', record }))
    })

    it('gives each reader a record of its own', async () => {
      const id = randomUUID()
      const record = { list: [1] }
      await records().put(id, record)
      record.list.push(2)
      const found = (await records().find(id)) as { list: number[] }
      found.list.push(3)
      expect(await records().find(id)).toEqual({ list: [1] })
    })
  })
}
