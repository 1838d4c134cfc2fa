import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { DeviceCode } from '../../core/storage/ports.js'
import type { Subject } from './storage-contract-subject.js'

type Request = { readonly client: string }
type Approval = { readonly sub: string }

/** The part of the storage contract on device codes. Called by `storageContract`. */
export const deviceCodeContract = ({ backend, open, pass }: Subject): void => {
  describe('device codes', () => {
    const codes = () => backend().deviceCodes<Request, Approval>('contract_device_codes')
    const approval = { sub: 'alice' }
    const request = { client: 'tv' }

    const start = async (ttlSeconds = 600) => {
      const [id, userCode] = [randomUUID(), randomUUID()]
      expect(await codes().start(id, { userCode, request, intervalSeconds: 5 }, ttlSeconds)).toBe(true)
      const pending: DeviceCode<Request, Approval> = { userCode, request, state: 'pending', intervalSeconds: 5 }
      return { id, userCode, pending }
    }

    it('are found by either code, here and through another opening', async () => {
      const { id, userCode, pending } = await start()
      expect(await codes().find(id)).toEqual(pending)
      expect(await codes().findByUserCode(userCode)).toEqual(pending)
      await using other = await open()
      expect(await other.deviceCodes('contract_device_codes').findByUserCode(userCode)).toEqual(pending)
    })

    it('are unknown by what they are not: the codes are two', async () => {
      const { id, userCode } = await start()
      expect(await codes().find(userCode)).toBeUndefined()
      expect(await codes().findByUserCode(id)).toBeUndefined()
      for (const odd of [randomUUID(), '', 'x'.repeat(5000), '__proto__', '\0', '\ud800']) {
        expect(await codes().find(odd)).toBeUndefined()
        expect(await codes().findByUserCode(odd)).toBeUndefined()
        expect(await codes().poll(odd)).toEqual({ outcome: 'unknown' })
        expect(await codes().decide(odd, { approval })).toEqual({ outcome: 'unknown' })
        expect(await codes().redeem(odd)).toEqual({ outcome: 'unknown' })
      }
    })

    it('are not started under a user code that is taken, until it is forgotten', async () => {
      const { userCode, pending } = await start(100)
      const again = (id: string) => codes().start(id, { userCode, request: { client: 'b' }, intervalSeconds: 5 }, 100)
      const refused = randomUUID()
      expect(await again(refused)).toBe(false)
      expect(await codes().find(refused)).toBeUndefined()
      expect(await codes().findByUserCode(userCode)).toEqual(pending)
      pass(200)
      expect(await again(randomUUID())).toBe(true)
      expect(await codes().findByUserCode(userCode)).toMatchObject({ request: { client: 'b' } })
    })

    it('let one of 30 starts with one user code win', async () => {
      const userCode = randomUUID()
      const ids = Array.from({ length: 30 }, () => randomUUID())
      const started = await Promise.all(
        ids.map((id) => codes().start(id, { userCode, request: { client: id }, intervalSeconds: 5 }, 100)),
      )
      expect(started.filter(Boolean)).toHaveLength(1)
      expect(await codes().findByUserCode(userCode)).toMatchObject({ request: { client: ids[started.indexOf(true)] } })
    })

    it('are not started twice under one id', async () => {
      const { id, pending } = await start()
      await expect(codes().start(id, { ...pending, userCode: randomUUID() }, 100)).rejects.toThrow()
      expect(await codes().find(id)).toEqual(pending)
    })

    it('are polled: a violation makes the interval longer and leaves the stamp', async () => {
      const { id, pending } = await start()
      const slower = (intervalSeconds: number) => ({ ...pending, intervalSeconds })
      expect(await codes().poll(id)).toEqual({ outcome: 'due', code: pending })
      pass(4.999)
      expect(await codes().poll(id)).toEqual({ outcome: 'early', code: slower(10) })
      // 9.999 seconds after the stamp; were it moved, they would be five.
      pass(5)
      expect(await codes().poll(id)).toEqual({ outcome: 'early', code: slower(15) })
      pass(5.001)
      expect(await codes().poll(id)).toEqual({ outcome: 'due', code: slower(15) })
      pass(14.999)
      expect(await codes().poll(id)).toEqual({ outcome: 'early', code: slower(20) })
      pass(5.001)
      expect(await codes().poll(id)).toEqual({ outcome: 'due', code: slower(20) })
    })

    it('let one of 20 parallel polls have its answer', async () => {
      const { id } = await start()
      const polls = await Promise.all(Array.from({ length: 20 }, () => codes().poll(id)))
      expect(polls.filter(({ outcome }) => outcome === 'due')).toHaveLength(1)
      expect(await codes().find(id)).toMatchObject({ intervalSeconds: 5 + 19 * 5 })
    })

    it('survive a clock that was set back', async () => {
      const { id } = await start()
      await codes().poll(id)
      pass(-100)
      expect(await codes().poll(id)).toMatchObject({ outcome: 'due', code: { intervalSeconds: 5 } })
      pass(100)
    })

    it('are approved, redeemed once, and replayed from then on', async () => {
      const { id, userCode, pending } = await start()
      expect(await codes().redeem(id)).toEqual({ outcome: 'unknown' })
      const approved = { ...pending, state: 'approved', approval }
      expect(await codes().decide(userCode, { approval })).toEqual({ outcome: 'won', record: approved })
      expect(await codes().poll(id)).toEqual({ outcome: 'due', code: approved })
      const redeemed = { ...approved, state: 'redeemed' }
      expect(await codes().redeem(id)).toEqual({ outcome: 'won', record: redeemed })
      expect(await codes().redeem(id)).toEqual({ outcome: 'replayed', record: redeemed })
      expect(await codes().findByUserCode(userCode)).toEqual(redeemed)
    })

    it('are denied, for good', async () => {
      const { id, userCode, pending } = await start()
      const denied = { ...pending, state: 'denied' }
      expect(await codes().decide(userCode, 'denied')).toEqual({ outcome: 'won', record: denied })
      expect(await codes().decide(userCode, { approval })).toEqual({ outcome: 'replayed', record: denied })
      expect(await codes().redeem(id)).toEqual({ outcome: 'unknown' })
      for (const outcome of ['due', 'due']) expect(await codes().poll(id)).toEqual({ outcome, code: denied })
    })

    it('let one of many decisions stand', async () => {
      const { id, userCode } = await start()
      const decisions = Array.from({ length: 20 }, (_, n) =>
        n % 2 ? ('denied' as const) : { approval: { sub: `${n}` } },
      )
      const results = await Promise.all(decisions.map((decision) => codes().decide(userCode, decision)))
      const winner = results.findIndex(({ outcome }) => outcome === 'won')
      expect(results.filter(({ outcome }) => outcome === 'won')).toHaveLength(1)
      const stands = await codes().find(id)
      expect(stands).toMatchObject(winner % 2 ? { state: 'denied' } : { approval: { sub: `${winner}` } })
      for (const result of results) expect(result).toMatchObject({ record: stands })
    })

    it('let one of 50 redemptions win', async () => {
      const { id, userCode } = await start()
      await codes().decide(userCode, { approval })
      const results = await Promise.all(Array.from({ length: 50 }, () => codes().redeem(id)))
      expect(results.filter(({ outcome }) => outcome === 'won')).toHaveLength(1)
      expect(results.filter(({ outcome }) => outcome === 'replayed')).toHaveLength(49)
    })

    it('expire pending: nothing decides them any more, and they are told apart for as long again', async () => {
      const { id, userCode, pending } = await start(100)
      pass(100)
      const expired = { ...pending, state: 'expired' }
      expect(await codes().find(id)).toEqual(expired)
      expect(await codes().findByUserCode(userCode)).toEqual(expired)
      for (const outcome of ['due', 'due']) expect(await codes().poll(id)).toEqual({ outcome, code: expired })
      expect(await codes().decide(userCode, { approval })).toEqual({ outcome: 'replayed', record: expired })
      expect(await codes().decide(userCode, 'denied')).toEqual({ outcome: 'replayed', record: expired })
      pass(100)
      expect(await codes().find(id)).toBeUndefined()
      expect(await codes().findByUserCode(userCode)).toBeUndefined()
      expect(await codes().decide(userCode, { approval })).toEqual({ outcome: 'unknown' })
    })

    it('expire approved: nothing redeems them any more', async () => {
      const { id, userCode } = await start(100)
      await codes().decide(userCode, { approval })
      pass(99)
      expect(await codes().find(id)).toMatchObject({ state: 'approved' })
      pass(1)
      expect(await codes().find(id)).toMatchObject({ state: 'expired' })
      expect(await codes().redeem(id)).toEqual({ outcome: 'unknown' })
    })

    it('stay denied or redeemed past their time', async () => {
      const [denied, redeemed] = [await start(100), await start(100)]
      await codes().decide(denied.userCode, 'denied')
      await codes().decide(redeemed.userCode, { approval })
      await codes().redeem(redeemed.id)
      pass(150)
      expect(await codes().find(denied.id)).toMatchObject({ state: 'denied' })
      expect(await codes().find(redeemed.id)).toMatchObject({ state: 'redeemed' })
      expect(await codes().redeem(redeemed.id)).toMatchObject({ outcome: 'replayed' })
    })
  })
}
