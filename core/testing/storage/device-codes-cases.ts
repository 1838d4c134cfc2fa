import { deepEqual, equal, rejects } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { DeviceCode } from '../../storage/ports.js'
import { matches } from './matches.js'
import type { Describe, Subject } from './subject.js'

type Request = { readonly client: string }
type Approval = { readonly sub: string }

const approval = { sub: 'alice' }
const request = { client: 'tv' }

/** The device codes of the store under test, and what starts one. */
const prepare = ({ backend }: Subject) => {
  const codes = () => backend().deviceCodes<Request, Approval>('contract_device_codes')
  const start = async (ttlSeconds = 600) => {
    const [id, userCode] = [randomUUID(), randomUUID()]
    equal(await codes().start(id, { userCode, request, intervalSeconds: 5 }, ttlSeconds), true)
    const pending: DeviceCode<Request, Approval> = { userCode, request, state: 'pending', intervalSeconds: 5 }
    return { id, userCode, pending }
  }
  return { codes, start }
}

const startCases = (subject: Subject, describe: Describe): void => {
  const { open, pass } = subject
  const { codes, start } = prepare(subject)
  describe('device codes', (it) => {
    it('are found by either code, here and through another opening', async () => {
      const { id, userCode, pending } = await start()
      deepEqual(await codes().find(id), pending)
      deepEqual(await codes().findByUserCode(userCode), pending)
      await using other = await open()
      deepEqual(await other.deviceCodes('contract_device_codes').findByUserCode(userCode), pending)
    })

    it('are unknown by what they are not: the codes are two', async () => {
      const { id, userCode } = await start()
      equal(await codes().find(userCode), undefined)
      equal(await codes().findByUserCode(id), undefined)
      for (const odd of [randomUUID(), '', 'x'.repeat(5000), '__proto__', '\0', '\ud800']) {
        equal(await codes().find(odd), undefined)
        equal(await codes().findByUserCode(odd), undefined)
        deepEqual(await codes().poll(odd), { outcome: 'unknown' })
        deepEqual(await codes().decide(odd, { approval }), { outcome: 'unknown' })
        deepEqual(await codes().redeem(odd), { outcome: 'unknown' })
      }
    })

    it('are not started under a user code that is taken, until it is forgotten', async () => {
      const { userCode, pending } = await start(100)
      const again = (id: string) => codes().start(id, { userCode, request: { client: 'b' }, intervalSeconds: 5 }, 100)
      const refused = randomUUID()
      equal(await again(refused), false)
      equal(await codes().find(refused), undefined)
      deepEqual(await codes().findByUserCode(userCode), pending)
      pass(700)
      equal(await again(randomUUID()), true)
      matches(await codes().findByUserCode(userCode), { request: { client: 'b' } })
    })

    it('let one of 30 starts with one user code win', async () => {
      const userCode = randomUUID()
      const ids = Array.from({ length: 30 }, () => randomUUID())
      const started = await Promise.all(
        ids.map((id) => codes().start(id, { userCode, request: { client: id }, intervalSeconds: 5 }, 100)),
      )
      equal(started.filter(Boolean).length, 1)
      matches(await codes().findByUserCode(userCode), { request: { client: ids[started.indexOf(true)] } })
    })

    it('are not started twice under one id', async () => {
      const { id, pending } = await start()
      await rejects(codes().start(id, { ...pending, userCode: randomUUID() }, 100))
      deepEqual(await codes().find(id), pending)
    })
  })
}

const pollCases = (subject: Subject, describe: Describe): void => {
  const { pass } = subject
  const { codes, start } = prepare(subject)
  describe('device codes', (it) => {
    it('are polled: a violation makes the interval longer and leaves the stamp; who keeps the pace has the first one', async () => {
      const { id, pending } = await start()
      const slower = (intervalSeconds: number) => ({ ...pending, intervalSeconds })
      deepEqual(await codes().poll(id), { outcome: 'due', code: pending })
      pass(3.999)
      deepEqual(await codes().poll(id), { outcome: 'early', code: slower(10) })
      // 8.999 seconds after the timestamp; had it moved, it would be five.
      pass(5)
      deepEqual(await codes().poll(id), { outcome: 'early', code: slower(15) })
      pass(5.001)
      deepEqual(await codes().poll(id), { outcome: 'due', code: pending })
      pass(3.999)
      deepEqual(await codes().poll(id), { outcome: 'early', code: slower(10) })
      pass(5.001)
      deepEqual(await codes().poll(id), { outcome: 'due', code: pending })
    })

    it('are polled a second too early, and at any pace of 2 s at most half an interval too early', async () => {
      const { id, pending } = await start()
      for (let polls = 0; polls < 20; polls++) {
        deepEqual(await codes().poll(id), { outcome: 'due', code: pending })
        pass(polls % 2 ? 5.1 : 4)
      }
      const quick = randomUUID()
      await codes().start(quick, { userCode: randomUUID(), request, intervalSeconds: 1 }, 600)
      matches(await codes().poll(quick), { outcome: 'due' })
      pass(0.499)
      matches(await codes().poll(quick), { outcome: 'early', code: { intervalSeconds: 6 } })
    })

    it('are polled by a device that never waits long enough: it has an answer a minute', async () => {
      const { id } = await start()
      let due = 0
      for (let polls = 0; polls < 60; polls++) {
        if ((await codes().poll(id)).outcome === 'due') due++
        pass(3)
      }
      equal(due, 3)
    })

    it('let one of 20 parallel polls have its answer', async () => {
      const { id } = await start()
      const polls = await Promise.all(Array.from({ length: 20 }, () => codes().poll(id)))
      equal(polls.filter(({ outcome }) => outcome === 'due').length, 1)
      matches(await codes().find(id), { intervalSeconds: 60 })
    })

    it('wait a minute at most, however often they came too early', async () => {
      const { id, pending } = await start()
      await codes().poll(id)
      for (let polls = 0; polls < 40; polls++) await codes().poll(id)
      matches(await codes().find(id), { intervalSeconds: 60 })
      pass(58.999)
      matches(await codes().poll(id), { outcome: 'early' })
      pass(0.001)
      deepEqual(await codes().poll(id), { outcome: 'due', code: pending })
    })

    it('survive a clock that was set back', async () => {
      const { id } = await start()
      await codes().poll(id)
      pass(-100)
      matches(await codes().poll(id), { outcome: 'due', code: { intervalSeconds: 5 } })
      pass(100)
    })
  })
}

const decisionCases = (subject: Subject, describe: Describe): void => {
  const { pass } = subject
  const { codes, start } = prepare(subject)
  describe('device codes', (it) => {
    it('are approved, redeemed once, and replayed from then on', async () => {
      const { id, userCode, pending } = await start()
      deepEqual(await codes().redeem(id), { outcome: 'unknown' })
      const approved = { ...pending, state: 'approved', approval }
      deepEqual(await codes().decide(userCode, { approval }), { outcome: 'won', record: approved })
      deepEqual(await codes().poll(id), { outcome: 'due', code: approved })
      const redeemed = { ...approved, state: 'redeemed' }
      deepEqual(await codes().redeem(id), { outcome: 'won', record: redeemed })
      deepEqual(await codes().redeem(id), { outcome: 'replayed', record: redeemed })
      pass(5)
      deepEqual(await codes().poll(id), { outcome: 'due', code: redeemed })
      deepEqual(await codes().findByUserCode(userCode), redeemed)
    })

    it('are approved or denied right after an early poll: the next one comes in time', async () => {
      for (const [decision, state] of [
        [{ approval }, 'approved'],
        ['denied', 'denied'],
      ] as const) {
        const { id, userCode } = await start()
        for (const outcome of ['due', 'early', 'early']) matches(await codes().poll(id), { outcome })
        await codes().decide(userCode, decision)
        matches(await codes().poll(id), {
          outcome: 'due',
          code: { state, intervalSeconds: decision === 'denied' ? 15 : 5 },
        })
      }
    })

    it('are approved, and of 20 parallel polls one meets the approval: the others are no second use', async () => {
      const { id, userCode } = await start()
      await codes().poll(id)
      await codes().decide(userCode, { approval })
      const polls = await Promise.all(Array.from({ length: 20 }, () => codes().poll(id)))
      equal(polls.filter(({ outcome }) => outcome === 'due').length, 1)
      equal(polls.filter(({ outcome }) => outcome === 'early').length, 19)
    })

    it('are denied, for good', async () => {
      const { id, userCode, pending } = await start()
      const denied = { ...pending, state: 'denied' }
      deepEqual(await codes().decide(userCode, 'denied'), { outcome: 'won', record: denied })
      deepEqual(await codes().decide(userCode, { approval }), { outcome: 'replayed', record: denied })
      deepEqual(await codes().redeem(id), { outcome: 'unknown' })
      for (const outcome of ['due', 'due']) deepEqual(await codes().poll(id), { outcome, code: denied })
    })

    it('let one of many decisions stand', async () => {
      const { id, userCode } = await start()
      const decisions = Array.from({ length: 20 }, (_, n) =>
        n % 2 ? ('denied' as const) : { approval: { sub: `${n}` } },
      )
      const results = await Promise.all(decisions.map((decision) => codes().decide(userCode, decision)))
      const winner = results.findIndex(({ outcome }) => outcome === 'won')
      equal(results.filter(({ outcome }) => outcome === 'won').length, 1)
      const stands = await codes().find(id)
      matches(stands, winner % 2 ? { state: 'denied' } : { approval: { sub: `${winner}` } })
      for (const result of results) matches(result, { record: stands })
    })

    it('let one of 50 redemptions win', async () => {
      const { id, userCode } = await start()
      await codes().decide(userCode, { approval })
      const results = await Promise.all(Array.from({ length: 50 }, () => codes().redeem(id)))
      equal(results.filter(({ outcome }) => outcome === 'won').length, 1)
      equal(results.filter(({ outcome }) => outcome === 'replayed').length, 49)
    })
  })
}

const expiryCases = (subject: Subject, describe: Describe): void => {
  const { pass } = subject
  const { codes, start } = prepare(subject)
  describe('device codes', (it) => {
    it('expire pending: nothing decides them any more, and they stay known for as long again', async () => {
      const { id, userCode, pending } = await start(1000)
      pass(1000)
      const expired = { ...pending, state: 'expired' }
      deepEqual(await codes().find(id), expired)
      deepEqual(await codes().findByUserCode(userCode), expired)
      for (const outcome of ['due', 'due']) deepEqual(await codes().poll(id), { outcome, code: expired })
      deepEqual(await codes().decide(userCode, { approval }), { outcome: 'replayed', record: expired })
      deepEqual(await codes().decide(userCode, 'denied'), { outcome: 'replayed', record: expired })
      pass(1000)
      equal(await codes().find(id), undefined)
      equal(await codes().findByUserCode(userCode), undefined)
      deepEqual(await codes().decide(userCode, { approval }), { outcome: 'unknown' })
    })

    it('stay known for ten minutes after their end, however short they lived', async () => {
      const { id, userCode } = await start(10)
      pass(10 + 599)
      matches(await codes().poll(id), { outcome: 'due', code: { state: 'expired' } })
      matches(await codes().findByUserCode(userCode), { state: 'expired' })
      pass(1)
      deepEqual(await codes().poll(id), { outcome: 'unknown' })
      equal(await codes().findByUserCode(userCode), undefined)
    })

    it('expire approved: nothing redeems them any more', async () => {
      const { id, userCode } = await start(100)
      await codes().decide(userCode, { approval })
      pass(99)
      matches(await codes().find(id), { state: 'approved' })
      pass(1)
      matches(await codes().find(id), { state: 'expired' })
      deepEqual(await codes().redeem(id), { outcome: 'unknown' })
    })

    it('stay denied or redeemed past their time', async () => {
      const [denied, redeemed] = [await start(100), await start(100)]
      await codes().decide(denied.userCode, 'denied')
      await codes().decide(redeemed.userCode, { approval })
      await codes().redeem(redeemed.id)
      pass(150)
      matches(await codes().find(denied.id), { state: 'denied' })
      matches(await codes().find(redeemed.id), { state: 'redeemed' })
      matches(await codes().redeem(redeemed.id), { outcome: 'replayed' })
    })
  })
}

/** The part of the storage contract on device codes. */
export const deviceCodeCases = (subject: Subject, describe: Describe): void => {
  startCases(subject, describe)
  pollCases(subject, describe)
  decisionCases(subject, describe)
  expiryCases(subject, describe)
}
