import { deepEqual, equal, rejects } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { JsonValue } from '../../json.js'
import type { EphemeralBackend } from '../../storage/ports.js'
import { newCollection, type Describe, type Subject } from './subject.js'

/** The part of the storage contract on records that are used once. */
export const oneTimeCases = ({ backend, pass }: Subject<EphemeralBackend>, describe: Describe): void => {
  describe('one-time records', (it) => {
    const codes = () => backend().oneTime<JsonValue>('contract_codes')

    it('keeps a record until it expires, redeemed or not', async () => {
      const id = randomUUID()
      await codes().put(id, { a: 1 }, 60)
      deepEqual(await codes().find(id), { a: 1 })
      deepEqual(await codes().redeem(id), { outcome: 'won', record: { a: 1 } })
      deepEqual(await codes().find(id), { a: 1 })
      pass(59)
      deepEqual(await codes().find(id), { a: 1 })
      pass(1)
      equal(await codes().find(id), undefined)
    })

    it('finds what is unused until it is redeemed or expires', async () => {
      const [used, left] = [randomUUID(), randomUUID()]
      for (const id of [used, left]) await codes().put(id, { a: 1 }, 60)
      deepEqual(await codes().findUnused(used), { a: 1 })
      await codes().redeem(used)
      equal(await codes().findUnused(used), undefined)
      pass(59)
      deepEqual(await codes().findUnused(left), { a: 1 })
      pass(1)
      equal(await codes().findUnused(left), undefined)
      equal(await codes().findUnused(randomUUID()), undefined)
    })

    it('tells won, replayed and unknown apart', async () => {
      const id = randomUUID()
      deepEqual(await codes().redeem(id), { outcome: 'unknown' })
      await codes().put(id, 'r', 60)
      deepEqual(await codes().redeem(id), { outcome: 'won', record: 'r' })
      deepEqual(await codes().redeem(id), { outcome: 'replayed', record: 'r' })
      pass(60)
      deepEqual(await codes().redeem(id), { outcome: 'unknown' })
    })

    it('knows nothing of a record that expired unused', async () => {
      const id = randomUUID()
      await codes().put(id, 'r', 60)
      pass(60)
      deepEqual(await codes().redeem(id), { outcome: 'unknown' })
    })

    it('refuses an id that exists, used or not, and changes nothing', async () => {
      const id = randomUUID()
      await codes().put(id, 'first', 60)
      await rejects(codes().put(id, 'second', 60))
      deepEqual(await codes().redeem(id), { outcome: 'won', record: 'first' })
      await rejects(codes().put(id, 'second', 60))
      deepEqual(await codes().redeem(id), { outcome: 'replayed', record: 'first' })
    })

    it('lets one of 50 parallel calls win', async () => {
      const id = randomUUID()
      await codes().put(id, 'r', 60)
      const outcomes = await Promise.all(Array.from({ length: 50 }, async () => (await codes().redeem(id)).outcome))
      equal(outcomes.filter((outcome) => outcome === 'won').length, 1)
      equal(outcomes.filter((outcome) => outcome === 'replayed').length, 49)
    })

    it('keeps collections apart', async () => {
      const id = randomUUID()
      await codes().put(id, 'r', 60)
      equal(await backend().oneTime(newCollection()).find(id), undefined)
      equal(await backend().oneTime('contract_code').find(`s${id}`), undefined)
    })
  })
}
