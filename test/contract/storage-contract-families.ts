import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../core/json.js'
import type { RefreshFamily } from '../../core/storage/ports.js'
import type { Subject } from './storage-contract-subject.js'

/** The part of the storage contract on refresh families. Called by `storageContract`. */
export const familyContract = ({ backend, clock, pass }: Subject): void => {
  describe('refresh families', () => {
    const families = () => backend().refreshFamilies<JsonValue>('contract_families')
    const newFamily = (): RefreshFamily<JsonValue> => ({
      grant: { sub: 'alice' },
      current: 'h1',
      absoluteExpiry: clock() + 1_000_000,
    })

    it('rotates: the successor is current, what it replaced is previous', async () => {
      const id = randomUUID()
      const family = newFamily()
      await families().start(id, family, 100)
      expect(await families().find(id)).toEqual(family)
      pass(10)
      const rotated = {
        ...family,
        current: 'h2',
        previous: { hash: 'h1', salt: 's2', rotatedAt: clock() },
      }
      const rotation = { presented: 'h1', successor: { hash: 'h2', salt: 's2' }, idleTtlSeconds: 100 }
      expect(await families().rotate(id, rotation)).toEqual({ outcome: 'won', record: rotated })
      expect(await families().find(id)).toEqual(rotated)
      expect(await families().rotate(id, rotation)).toEqual({ outcome: 'replayed', record: rotated })
      expect(await families().find(id)).toEqual(rotated)
    })

    it('without a successor keeps the token and starts its idle time anew', async () => {
      const id = randomUUID()
      const family = newFamily()
      await families().start(id, family, 100)
      pass(99)
      const rotation = { presented: 'h1', idleTtlSeconds: 100 }
      expect(await families().rotate(id, rotation)).toEqual({ outcome: 'won', record: family })
      pass(99)
      expect(await families().rotate(id, rotation)).toEqual({ outcome: 'won', record: family })
      pass(100)
      expect(await families().find(id)).toBeUndefined()
      expect(await families().rotate(id, rotation)).toEqual({ outcome: 'unknown' })
    })

    it('replays what never was current', async () => {
      const id = randomUUID()
      const family = newFamily()
      await families().start(id, family, 100)
      const rotation = { presented: 'h0', successor: { hash: 'h2', salt: 's' }, idleTtlSeconds: 100 }
      expect(await families().rotate(id, rotation)).toEqual({ outcome: 'replayed', record: family })
      expect(await families().find(id)).toEqual(family)
    })

    it('does not let a replay start the idle time anew', async () => {
      const id = randomUUID()
      await families().start(id, newFamily(), 100)
      pass(50)
      await families().rotate(id, { presented: 'h0', idleTtlSeconds: 100 })
      pass(50)
      expect(await families().find(id)).toBeUndefined()
    })

    it('lets no rotation pass the absolute expiry', async () => {
      const id = randomUUID()
      await families().start(id, { ...newFamily(), absoluteExpiry: clock() + 150_000 }, 100)
      pass(90)
      const rotation = { presented: 'h1', successor: { hash: 'h2', salt: 's' }, idleTtlSeconds: 100 }
      expect((await families().rotate(id, rotation)).outcome).toBe('won')
      pass(59)
      expect(await families().find(id)).toBeDefined()
      pass(1)
      expect(await families().find(id)).toBeUndefined()
      expect(await families().rotate(id, { presented: 'h2', idleTtlSeconds: 100 })).toEqual({ outcome: 'unknown' })
    })

    it('starts none past the absolute expiry, and none twice', async () => {
      const [id, other] = [randomUUID(), randomUUID()]
      await families().start(id, { ...newFamily(), absoluteExpiry: clock() + 10_000 }, 100)
      await expect(families().start(id, newFamily(), 100)).rejects.toThrow()
      pass(10)
      expect(await families().find(id)).toBeUndefined()
      await families().start(other, newFamily(), 100)
      expect(await families().find(other)).toBeDefined()
    })

    it('is gone after remove, which may come again', async () => {
      const id = randomUUID()
      await families().start(id, newFamily(), 100)
      await families().remove(id)
      expect(await families().find(id)).toBeUndefined()
      expect(await families().rotate(id, { presented: 'h1', idleTtlSeconds: 100 })).toEqual({ outcome: 'unknown' })
      await families().remove(id)
    })

    it('lets one of 50 parallel rotations win, and all see its successor', async () => {
      const id = randomUUID()
      await families().start(id, newFamily(), 100)
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          families().rotate(id, {
            presented: 'h1',
            successor: { hash: `successor ${n}`, salt: `salt ${n}` },
            idleTtlSeconds: 100,
          }),
        ),
      )
      const winner = results.findIndex(({ outcome }) => outcome === 'won')
      expect(results.filter(({ outcome }) => outcome === 'won')).toHaveLength(1)
      for (const result of results) {
        expect(result).toMatchObject({
          record: { current: `successor ${winner}`, previous: { hash: 'h1', salt: `salt ${winner}` } },
        })
      }
    })

    it('leaves nothing alive when removed and rotated at once', async () => {
      const id = randomUUID()
      await families().start(id, newFamily(), 100)
      const rotation = { presented: 'h1', successor: { hash: 'h2', salt: 's' }, idleTtlSeconds: 100 }
      await Promise.all([families().rotate(id, rotation), families().remove(id), families().rotate(id, rotation)])
      expect(await families().find(id)).toBeUndefined()
    })
  })
}
