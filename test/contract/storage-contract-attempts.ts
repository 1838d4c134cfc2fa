import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { AttemptPolicy } from '../../core/storage/ports.js'
import type { Subject } from './storage-contract-subject.js'

const policy: AttemptPolicy = { free: 3, baseDelaySeconds: 2, maxDelaySeconds: 10, forgetAfterSeconds: 100 }
const allowed = { allowed: true, retryAfterSeconds: 0 }
const refused = (retryAfterSeconds: number) => ({ allowed: false, retryAfterSeconds })

/** The part of the storage contract that counts guesses. Called by `storageContract`. */
export const attemptContract = ({ backend, clock, pass }: Subject): void => {
  describe('attempts', () => {
    const attempts = () => backend().attempts('contract_attempts')
    const take = (id: string) => attempts().take('n', id, policy)
    const takeSome = async (id: string, count: number) => {
      const taken = []
      while (taken.length < count) taken.push(await take(id))
      return taken
    }

    it('gives some for nothing, then delays that double up to the longest', async () => {
      const id = randomUUID()
      expect(await takeSome(id, 3)).toEqual(Array(3).fill(allowed))
      expect(await take(id)).toEqual(allowed)
      for (const delay of [2, 4, 8, 10, 10]) {
        expect(await take(id)).toEqual(refused(delay))
        pass(delay - 1)
        expect(await take(id)).toEqual(refused(1))
        pass(1)
        expect(await take(id)).toEqual(allowed)
      }
    })

    it('rounds what is left up to whole seconds', async () => {
      const id = randomUUID()
      await takeSome(id, 4)
      pass(0.5)
      expect(await take(id)).toEqual(refused(2))
      pass(1.499)
      expect(await take(id)).toEqual(refused(1))
      pass(0.001)
      expect(await take(id)).toEqual(allowed)
    })

    it('forgets after a success, and after a long time', async () => {
      const id = randomUUID()
      await takeSome(id, 4)
      expect(await take(id)).toEqual(refused(2))
      await attempts().clear('n', id)
      expect(await takeSome(id, 4)).toEqual(Array(4).fill(allowed))
      expect(await take(id)).toEqual(refused(2))
      pass(100)
      expect(await takeSome(id, 4)).toEqual(Array(4).fill(allowed))
      await attempts().clear('n', randomUUID())
    })

    it('is not made longer by a clock that is set back', async () => {
      const id = randomUUID()
      await takeSome(id, 4)
      const before = clock()
      pass(-3600)
      expect(await take(id)).toEqual(refused(2))
      pass(3600)
      expect(clock()).toBe(before)
    })

    it('counts each of 50 parallel attempts: no more than the free ones and one pass', async () => {
      const id = randomUUID()
      const taken = await Promise.all(Array.from({ length: 50 }, () => take(id)))
      expect(taken.filter((attempt) => attempt.allowed)).toHaveLength(4)
      pass(2)
      const next = await Promise.all(Array.from({ length: 50 }, () => take(id)))
      expect(next.filter((attempt) => attempt.allowed)).toHaveLength(1)
    })

    it('keeps namespaces and ids apart, whatever a person types', async () => {
      const id = randomUUID()
      for (const name of [id, `${id}\0`, `${id}__proto__`, id.repeat(1000), `${id}\ud800`, `${id}\ufffd`]) {
        expect(await takeSome(name, 4)).toEqual(Array(4).fill(allowed))
        expect(await take(name)).toEqual(refused(2))
        expect(await attempts().take('m', name, policy)).toEqual(allowed)
      }
    })
  })
}
