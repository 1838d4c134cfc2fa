import { deepEqual, equal, ok } from 'node:assert/strict'
import type { JsonValue } from '../../json.js'
import { inOwnCollection, oddIds, type Describe, type Subject } from './subject.js'

/** The part of the storage contract on records that are listed. */
export const listingCases = ({ backend, pass }: Subject, describe: Describe): void => {
  describe('lists of records', (test) => {
    const { it, store: records } = inOwnCollection(test, (name) => backend().records<JsonValue>(name))

    it('lists in the order of code points, page by page, without what expired', async () => {
      const ids = ['a', 'a\0', 'a\0b', 'aa', 'b', 'ba', 'Z', 'é', '漢', '\uffff', '👩', '0', '10', '9']
      for (const id of ids) await records().put(id, { id })
      await records().put('ab', 'expires', { ttlSeconds: 1 })
      pass(1)
      const byCodePoint = ids.toSorted((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)))
      const all = byCodePoint.map((id) => ({ id, record: { id } }))
      deepEqual(await records().list(undefined, 100), all)
      for (const size of [1, 3, 14]) {
        const listed = []
        for (let after: string | undefined; ;) {
          const page = await records().list(after, size)
          ok(page.length <= size)
          listed.push(...page)
          if (page.length < size) break
          after = page.at(-1)?.id
        }
        deepEqual(listed, all)
      }
    })

    it('lists from after an id that is not there, or no more', async () => {
      for (const id of ['a', 'c', 'e']) await records().put(id, id)
      await records().remove('c')
      deepEqual(await records().list('b', 10), [{ id: 'e', record: 'e' }])
      deepEqual(await records().list('c', 10), [{ id: 'e', record: 'e' }])
      deepEqual(await records().list('e', 10), [])
      deepEqual(await records().list(undefined, 0), [])
    })

    it('lists odd ids as they are', async () => {
      for (const [index, [, id]] of oddIds.entries()) await records().put(id, index)
      const listed = await records().list(undefined, 100)
      equal(listed.length, oddIds.length)
      deepEqual(
        new Map(listed.map(({ id, record }) => [id, record])),
        new Map(oddIds.map(([, id], index) => [id, index])),
      )
    })
  })
}
