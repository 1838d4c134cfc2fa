import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Unavailable } from '../../core/unavailable.js'
import type { Subject } from './storage-contract-subject.js'

/** The part of the storage contract on opening, sharing and closing. Called by `storageContract`. */
export const backendContract = ({ backend, open }: Subject): void => {
  describe('backend', () => {
    it('answers a ping, and gives up when told to', async () => {
      await backend().ping(new AbortController().signal)
      await expect(backend().ping(AbortSignal.abort())).rejects.toThrow(Unavailable)
    })

    it('keeps everything when it is closed and opened again', async () => {
      const [code, used, record, claim] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
      const first = await open()
      await first.oneTime('contract_codes').put(code, 'r', 60)
      await first.oneTime('contract_codes').put(used, 'r', 60)
      await first.oneTime('contract_codes').redeem(used)
      await first.records('contract_records').put(record, { a: 1 })
      await first.replayGuard('contract_replays').claim('n', claim, 60)
      await first[Symbol.asyncDispose]()
      const second = await open()
      expect(await second.oneTime('contract_codes').redeem(code)).toEqual({ outcome: 'won', record: 'r' })
      expect(await second.oneTime('contract_codes').redeem(used)).toEqual({ outcome: 'replayed', record: 'r' })
      expect(await second.records('contract_records').find(record)).toEqual({ a: 1 })
      expect(await second.replayGuard('contract_replays').claim('n', claim, 60)).toBe(false)
      await second[Symbol.asyncDispose]()
    })

    it('shares one truth with another backend on the same store', async () => {
      const id = randomUUID()
      const other = await open()
      await backend().oneTime('contract_codes').put(id, 'r', 60)
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, async (_, n) => {
          const store = (n % 2 === 0 ? backend() : other).oneTime('contract_codes')
          return (await store.redeem(id)).outcome
        }),
      )
      expect(outcomes.filter((outcome) => outcome === 'won')).toHaveLength(1)
      await other[Symbol.asyncDispose]()
      expect(await backend().oneTime('contract_codes').find(id)).toBe('r')
    })

    it('finishes what is under way when it is closed, and refuses what comes after', async () => {
      const ids = Array.from({ length: 20 }, () => randomUUID())
      const closing = await open()
      const codes = closing.oneTime('contract_codes')
      const puts = ids.map((id) => codes.put(id, 'r', 60))
      const disposed = closing[Symbol.asyncDispose]()
      await Promise.all(puts)
      await disposed
      await closing[Symbol.asyncDispose]()
      for (const id of ids) expect(await backend().oneTime('contract_codes').find(id)).toBe('r')

      const late: readonly (() => Promise<unknown>)[] = [
        () => codes.find(ids[0]!),
        () => codes.put(randomUUID(), 'r', 60),
        () => codes.redeem(ids[0]!),
        () => closing.records('contract_records').find('x'),
        () => closing.records('contract_records').put('x', 1),
        () => closing.records('contract_records').remove('x'),
        () => closing.records('contract_records').list(undefined, 1),
        () => closing.refreshFamilies('contract_families').find('x'),
        () => closing.refreshFamilies('contract_families').rotate('x', { presented: 'h', idleTtlSeconds: 1 }),
        () => closing.refreshFamilies('contract_families').remove('x'),
        () => closing.replayGuard('contract_replays').claim('n', 'x', 1),
        () => closing.revocations('contract_revocations').isRevoked(['x']),
        () => closing.revocations('contract_revocations').revoke('x', 1),
        () => closing.attempts('contract_attempts').clear('n', 'x'),
        () => closing.ping(new AbortController().signal),
      ]
      for (const call of late) {
        await expect(call(), call.toString()).rejects.toSatisfy(
          (error) => error instanceof Unavailable && error.applied === 'no',
        )
      }
      expect(await backend().oneTime('contract_codes').redeem(ids[0]!)).toMatchObject({ outcome: 'won' })
    })
  })
}
