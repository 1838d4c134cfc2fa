import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../core/json.js'
import { newCollection, type Subject } from './storage-contract-subject.js'

/** The part of the storage contract on what is used once: records, claims, revocations. Called by `storageContract`. */
export const oneTimeContract = ({ backend, pass }: Subject): void => {
  describe('one-time records', () => {
    const codes = () => backend().oneTime<JsonValue>('contract_codes')

    it('keeps a record until it expires, redeemed or not', async () => {
      const id = randomUUID()
      await codes().put(id, { a: 1 }, 60)
      expect(await codes().find(id)).toEqual({ a: 1 })
      expect(await codes().redeem(id)).toEqual({ outcome: 'won', record: { a: 1 } })
      expect(await codes().find(id)).toEqual({ a: 1 })
      pass(59)
      expect(await codes().find(id)).toEqual({ a: 1 })
      pass(1)
      expect(await codes().find(id)).toBeUndefined()
    })

    it('tells won, replayed and unknown apart', async () => {
      const id = randomUUID()
      expect(await codes().redeem(id)).toEqual({ outcome: 'unknown' })
      await codes().put(id, 'r', 60)
      expect(await codes().redeem(id)).toEqual({ outcome: 'won', record: 'r' })
      expect(await codes().redeem(id)).toEqual({ outcome: 'replayed', record: 'r' })
      pass(60)
      expect(await codes().redeem(id)).toEqual({ outcome: 'unknown' })
    })

    it('knows nothing of a record that expired unused', async () => {
      const id = randomUUID()
      await codes().put(id, 'r', 60)
      pass(60)
      expect(await codes().redeem(id)).toEqual({ outcome: 'unknown' })
    })

    it('refuses an id that exists, used or not, and changes nothing', async () => {
      const id = randomUUID()
      await codes().put(id, 'first', 60)
      await expect(codes().put(id, 'second', 60)).rejects.toThrow()
      expect(await codes().redeem(id)).toEqual({ outcome: 'won', record: 'first' })
      await expect(codes().put(id, 'second', 60)).rejects.toThrow()
      expect(await codes().redeem(id)).toEqual({ outcome: 'replayed', record: 'first' })
    })

    it('lets one of 50 parallel calls win', async () => {
      const id = randomUUID()
      await codes().put(id, 'r', 60)
      const outcomes = await Promise.all(Array.from({ length: 50 }, async () => (await codes().redeem(id)).outcome))
      expect(outcomes.filter((outcome) => outcome === 'won')).toHaveLength(1)
      expect(outcomes.filter((outcome) => outcome === 'replayed')).toHaveLength(49)
    })

    it('keeps collections apart', async () => {
      const id = randomUUID()
      await codes().put(id, 'r', 60)
      expect(await backend().oneTime(newCollection()).find(id)).toBeUndefined()
      expect(await backend().oneTime('contract_code').find(`s${id}`)).toBeUndefined()
    })
  })

  describe('replay guard', () => {
    const guard = () => backend().replayGuard('contract_replays')

    it('claims once within the time, and anew after it', async () => {
      const id = randomUUID()
      expect(await guard().claim('n', id, 60)).toBe(true)
      expect(await guard().claim('n', id, 60)).toBe(false)
      pass(59)
      expect(await guard().claim('n', id, 60)).toBe(false)
      pass(1)
      expect(await guard().claim('n', id, 60)).toBe(true)
      expect(await guard().claim('n', id, 60)).toBe(false)
    })

    it('lets one of 50 parallel claims win, also when an old one just expired', async () => {
      const id = randomUUID()
      for (const lifetime of [60, 30]) {
        const claims = await Promise.all(Array.from({ length: 50 }, () => guard().claim('n', id, lifetime)))
        expect(claims.filter(Boolean)).toHaveLength(1)
        pass(lifetime)
      }
    })

    it('keeps namespaces apart, wherever namespace and id are cut', async () => {
      const id = randomUUID()
      const pairs = [
        ['a', `b${id}`],
        ['ab', id],
        ['', `ab${id}`],
        [`ab${id}`, ''],
        ['a:', `b${id}`],
        ['1:a', `b${id}`],
        [`a\0b`, id],
        ['a', `\0b${id}`],
      ] as const
      for (const [namespace, value] of pairs) expect(await guard().claim(namespace, value, 60)).toBe(true)
      for (const [namespace, value] of pairs) expect(await guard().claim(namespace, value, 60)).toBe(false)
    })

    it('takes ids of any length: a token names its own jti', async () => {
      const id = randomUUID()
      const long = id.repeat(500)
      expect(await guard().claim(long, `${long}a`, 60)).toBe(true)
      expect(await guard().claim(long, `${long}b`, 60)).toBe(true)
      expect(await guard().claim(long, `${long}a`, 60)).toBe(false)
    })
  })

  describe('revocations', () => {
    const revocations = () => backend().revocations('contract_revocations')

    it('is revoked when any of the ids is, until the time is over', async () => {
      const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()]
      expect(await revocations().isRevoked([a, b])).toBe(false)
      await revocations().revoke(b, 60)
      expect(await revocations().isRevoked([a, b])).toBe(true)
      expect(await revocations().isRevoked([b])).toBe(true)
      expect(await revocations().isRevoked([a, c])).toBe(false)
      expect(await revocations().isRevoked([])).toBe(false)
      pass(60)
      expect(await revocations().isRevoked([b])).toBe(false)
    })

    it('is made longer by a second one, never shorter', async () => {
      const [a, b] = [randomUUID(), randomUUID()]
      await revocations().revoke(a, 60)
      await revocations().revoke(a, 10)
      await revocations().revoke(b, 10)
      await revocations().revoke(b, 60)
      pass(59)
      expect(await revocations().isRevoked([a])).toBe(true)
      expect(await revocations().isRevoked([b])).toBe(true)
      pass(1)
      expect(await revocations().isRevoked([a, b])).toBe(false)
    })
  })
}
