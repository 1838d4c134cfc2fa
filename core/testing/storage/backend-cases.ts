import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { EphemeralBackend } from '../../storage/ports.js'
import { Unavailable } from '../../unavailable.js'
import { matches } from './matches.js'
import type { Describe, Subject } from './subject.js'

const refuses = (call: () => Promise<unknown>): Promise<void> =>
  rejects(call(), (error) => {
    ok(error instanceof Unavailable && error.applied === 'no', `${call.toString()} once closed: ${String(error)}`)
    return true
  })

/** The part of the storage contract about opening, sharing and closing. */
export const backendCases = ({ backend, open, clock }: Subject<EphemeralBackend>, describe: Describe): void => {
  describe('backend', (it) => {
    it('answers a ping, and gives up when the signal says so', async () => {
      await backend().ping(new AbortController().signal)
      await rejects(backend().ping(AbortSignal.abort()), Unavailable)
    })

    it('says how much room there is for what is short-lived, and what an entry takes of it', async () => {
      const { capacity, footprint } = backend().room
      ok(capacity() > 0 && Number.isFinite(capacity()))
      ok(footprint(43, 0) > 0)
      ok(footprint(43, 10_000) >= footprint(43, 100) + 5_000)
    })

    it('keeps everything when it is closed and opened again', async () => {
      const [code, used, record, claim] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
      const first = await open()
      await first.oneTime('contract_codes').put(code, 'r', 60)
      await first.oneTime('contract_codes').put(used, 'r', 60)
      await first.oneTime('contract_codes').redeem(used)
      await first.records('contract_records').put(record, { a: 1 })
      await first.replayGuard('contract_replays').claim('n', claim, 60, clock())
      await first[Symbol.asyncDispose]()
      const second = await open()
      deepEqual(await second.oneTime('contract_codes').redeem(code), { outcome: 'won', record: 'r' })
      deepEqual(await second.oneTime('contract_codes').redeem(used), { outcome: 'replayed', record: 'r' })
      deepEqual(await second.records('contract_records').find(record), { a: 1 })
      equal(await second.replayGuard('contract_replays').claim('n', claim, 60, clock()), false)
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
      equal(outcomes.filter((outcome) => outcome === 'won').length, 1)
      await other[Symbol.asyncDispose]()
      equal(await backend().oneTime('contract_codes').find(id), 'r')
    })

    it('finishes what is under way when it is closed, and refuses what comes after', async () => {
      const first = randomUUID()
      const ids = [first, ...Array.from({ length: 19 }, () => randomUUID())]
      const closing = await open()
      const codes = closing.oneTime('contract_codes')
      const puts = ids.map((id) => codes.put(id, 'r', 60))
      const disposed = closing[Symbol.asyncDispose]()
      await Promise.all(puts)
      await disposed
      await closing[Symbol.asyncDispose]()
      for (const id of ids) equal(await backend().oneTime('contract_codes').find(id), 'r')

      const late: readonly (() => Promise<unknown>)[] = [
        () => codes.find(first),
        () => codes.put(randomUUID(), 'r', 60),
        () => codes.redeem(first),
        () => closing.records('contract_records').find('x'),
        () => closing.records('contract_records').put('x', 1),
        () => closing.records('contract_records').remove('x'),
        () => closing.replayGuard('contract_replays').claim('n', 'x', 1, clock()),
        () => closing.counters('contract_counters').update('n', 'x', () => ({ result: 1 })),
        () => closing.ping(new AbortController().signal),
      ]
      for (const call of late) await refuses(call)
      matches(await backend().oneTime('contract_codes').redeem(first), { outcome: 'won' })
    })
  })
}

/** Like `backendCases`, for the ports of records only. */
export const closedRecordsCases = ({ open }: Subject, describe: Describe): void => {
  describe('backend of records', (it) => {
    it('refuses everything once it is closed', async () => {
      const closing = await open()
      await closing[Symbol.asyncDispose]()
      const late: readonly (() => Promise<unknown>)[] = [
        () => closing.records('contract_records').list(undefined, 1),
        () => closing.refreshFamilies('contract_families').find('x'),
        () => closing.refreshFamilies('contract_families').rotate('x', { presented: 'h', idleTtlSeconds: 1 }),
        () => closing.refreshFamilies('contract_families').remove('x'),
        () => closing.revocations('contract_revocations').isRevoked(['x']),
        () => closing.revocations('contract_revocations').revoke('x', 1),
        () => closing.revocations('contract_revocations').revokeBefore('x', 1, 1),
        () => closing.revocations('contract_revocations').endedBefore('x'),
        () => closing.deviceCodes('contract_device_codes').find('x'),
        () => closing.deviceCodes('contract_device_codes').redeem('x'),
      ]
      for (const call of late) await refuses(call)
    })
  })
}
