import { setMaxListeners } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { Unavailable } from '../../core/unavailable.js'
import { circuitOf, keyReport, never, openChaosRing, order, verifies } from '../support/signers/signer-ring.js'

const still = { probeMs: 1_000_000, maxProbeMs: 1_000_000 }
const soon = { probeMs: 5, maxProbeMs: 20 }

const newController = (): AbortController => {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

const closing: (() => PromiseLike<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})
const opened = async <T extends AsyncDisposable>(opening: Promise<T>): Promise<T> => {
  const ring = await opening
  closing.push(() => ring[Symbol.asyncDispose]())
  return ring
}

const outage = async (signing: Promise<unknown>): Promise<Unavailable> => {
  const error: unknown = await signing.then(
    () => undefined,
    (cause: unknown) => cause,
  )
  expect(error).toBeInstanceOf(Unavailable)
  return error as Unavailable
}

describe('the circuit of a signer', () => {
  it.each(['throttle', 'crash'] as const)(
    '%s: an outage, and soon nobody waits for it; it closes by itself when the backend answers',
    async (fault) => {
      const { open, chaos, events } = await openChaosRing(['a1'], { limits: { ...still, failures: 5 } })
      const ring = await opened(open())
      chaos('a').tell({ fault })
      while (circuitOf(ring, 'a') === 'closed')
        expect((await outage(ring.sign(order()))).component).toMatch(/^signers\./)
      const { calls } = chaos('a')
      expect(calls).toBeLessThanOrEqual(1 + 5 + 1)
      for (let n = 0; n < 100; n++) await outage(ring.sign(order()))
      expect(chaos('a').calls).toBe(calls)
      expect(keyReport(ring, 'a1').calls.circuit_open).toBe(100)

      // A probe that fails leaves it open; one that succeeds closes it.
      await ring.probe(never)
      expect(circuitOf(ring, 'a')).toBe('open')
      chaos('a').tell({})
      await ring.probe(never)
      expect(circuitOf(ring, 'a')).toBe('closed')
      expect(await verifies(ring, await ring.sign(order()))).toBe(true)
      expect(events.filter(({ event }) => event === 'signer.circuit')).toMatchObject([
        { signer: 'a', state: 'open' },
        { signer: 'a', state: 'closed' },
      ])
    },
  )

  it('probes in the background', async () => {
    const { open, chaos } = await openChaosRing(['a1', 'b1'], { limits: { ...soon, failures: 2 } })
    const ring = await opened(open())
    chaos('a').tell({ fault: 'throttle' })
    for (let n = 0; n < 50; n++) expect((await ring.sign(order())).kid).toBe('b1')
    expect(circuitOf(ring, 'a')).not.toBe('closed')
    chaos('a').tell({})
    await expect.poll(() => circuitOf(ring, 'a')).toBe('closed')
    expect((await ring.sign(order())).kid).toBe('a1')
  })

  it('one key that cannot be asked does not keep the others of its signer out', async () => {
    const { open, chaos } = await openChaosRing(['a1', 'a2'], { limits: { ...soon, failures: 3 } })
    const ring = await opened(open())
    chaos('a').tell({ fault: 'throttle', forRef: 'a1' })
    for (let n = 0; n < 30; n++) expect((await ring.sign(order())).kid).toBe('a2')
  })

  it('is each signer’s own', async () => {
    const { open, chaos } = await openChaosRing(['a1', 'b1'], { limits: { ...still, failures: 2 } })
    const ring = await opened(open())
    chaos('b').tell({ fault: 'throttle' })
    await ring.probe(never, 'b')
    await ring.probe(never, 'b')
    expect([circuitOf(ring, 'a'), circuitOf(ring, 'b')]).toEqual(['closed', 'open'])
    expect((await ring.sign(order())).kid).toBe('a1')
  })
})

describe('F13 throttling', () => {
  it('three calls in ten fail: the next key signs; every signature is right', async () => {
    const { open, chaos } = await openChaosRing(['a1', 'b1'], { limits: soon })
    const ring = await opened(open())
    chaos('a').tell({ fault: 'throttle', everyNth: 3 })
    const made = await Promise.all(Array.from({ length: 300 }, () => ring.sign(order())))
    const right = await Promise.all(made.map((one) => verifies(ring, one)))
    expect(right.every(Boolean)).toBe(true)
    expect(made.some(({ kid }) => kid === 'a1')).toBe(true)
    expect(keyReport(ring, 'a1').calls.unavailable).toBeGreaterThan(0)
  })

  it('asks the signer once, which tries again itself where that helps', async () => {
    const { open, chaos } = await openChaosRing(['a1'], { limits: still })
    const ring = await opened(open())
    chaos('a').tell({ fault: 'throttle' })
    const before = chaos('a').calls
    await outage(ring.sign(order()))
    expect(chaos('a').calls - before).toBe(1)
  })
})

describe('F14 slow and silent backends', () => {
  it.each(['hang', 'deaf'] as const)('%s: given up at the deadline, and the next key signs', async (fault) => {
    const { open, chaos } = await openChaosRing(['a1', 'b1'], { limits: { ...still, attemptMs: 20 } })
    const ring = await opened(open())
    chaos('a').tell({ fault })
    for (let n = 0; n < 5; n++) expect((await ring.sign(order())).kid).toBe('b1')
    expect(keyReport(ring, 'a1').calls.timeout).toBe(5)
    expect(circuitOf(ring, 'a')).toBe('open')
    expect(ring.report().signers.map(({ running }) => running)).toEqual([0, 0])
  })

  it('the request’s own end counts against nobody', async () => {
    const { open, chaos } = await openChaosRing(['a1', 'b1'], { limits: still })
    const ring = await opened(open())
    chaos('a').tell({ fault: 'deaf' })
    const reason = new Error('the request is over')
    const controller = newController()
    const signing = Array.from({ length: 20 }, () => ring.sign(order({ signal: controller.signal })))
    const outcomes = Promise.allSettled(signing)
    controller.abort(reason)
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason })
    expect(circuitOf(ring, 'a')).toBe('closed')
    expect(keyReport(ring, 'a1').calls.aborted).toBe(20)
    expect(keyReport(ring, 'b1').calls.signed).toBe(0)
  })

  it('a signer that is stuck keeps nobody from another one', async () => {
    const { open, chaos } = await openChaosRing(['a1', 'b1'], { limits: still, purposes: { a1: ['access_token'] } })
    const ring = await opened(open())
    chaos('a').tell({ fault: 'deaf' })
    const controller = newController()
    const orders = Array.from({ length: 2000 }, (_, n) => order({ signal: controller.signal, clientId: `${n % 10}` }))
    const stuck = Promise.allSettled(orders.map((one) => ring.sign(one)))
    expect(ring.report().signers).toMatchObject([{ running: 256 }, { running: 0 }])
    for (let n = 0; n < 100; n++) expect((await ring.sign(order({ purpose: 'id_token' }))).kid).toBe('b1')
    controller.abort(new Error('over'))
    await stuck
    expect(ring.report().signers).toMatchObject([
      { running: 0, waiting: 0 },
      { running: 0, waiting: 0 },
    ])
  })
})

describe('the queue of a signer', () => {
  it('overflows into outages, sign-ins go first, and one greedy client does not starve another', async () => {
    const limits = { ...still, concurrency: 1, maxWaiting: 8 }
    const { open, chaos } = await openChaosRing(['a1'], { limits })
    const ring = await opened(open())
    chaos('a').tell({ latencyMs: 2 })
    const done: string[] = []
    const ask = (name: string, clientId: string, priority: 'machine' | 'sign_in' = 'machine') =>
      ring
        .sign(order({ clientId, priority }))
        .then(() => void done.push(name))
        .catch((error: unknown) => {
          expect(error).toBeInstanceOf(Unavailable)
          done.push(`${name} refused`)
        })
    const asked = [
      ...Array.from({ length: 12 }, (_, n) => ask(`greedy${n}`, 'greedy')),
      ask('modest', 'modest'),
      ask('person', 'web', 'sign_in'),
    ]
    expect(ring.report().signers).toMatchObject([{ waiting: 8, running: 1 }])
    await Promise.all(asked)
    // 0 was being signed; 9 to 11 found the queue full; 8 and 7 gave their places to those who had none.
    const refused = done.filter((name) => name.endsWith('refused')).toSorted()
    expect(refused).toEqual([
      'greedy10 refused',
      'greedy11 refused',
      'greedy7 refused',
      'greedy8 refused',
      'greedy9 refused',
    ])
    const signed = done.filter((name) => !name.endsWith('refused'))
    expect(signed).toEqual([
      'greedy0',
      'person',
      'greedy1',
      'modest',
      'greedy2',
      'greedy3',
      'greedy4',
      'greedy5',
      'greedy6',
    ])
    expect(keyReport(ring, 'a1').calls).toMatchObject({ signed: 9, overflow: 5 })
    expect(ring.report().signers).toMatchObject([{ waiting: 0, running: 0 }])
  })

  it('the provider says how many it signs side by side, and may change its mind', async () => {
    const { open, chaos } = await openChaosRing(['a1'], { limits: still })
    const ring = await opened(open())
    const ask = (count: number) => Array.from({ length: count }, () => ring.sign(order()))
    chaos('a').tell({ fault: 'hang' })
    const controller = newController()
    const stuck = Array.from({ length: 8 }, () => ring.sign(order({ signal: controller.signal })))
    expect(ring.report().signers).toMatchObject([{ running: 8, waiting: 0 }])
    chaos('a').tell({})
    chaos('a').concurrency = 3
    const asked = ask(2)
    expect(ring.report().signers).toMatchObject([{ running: 8, waiting: 2 }])
    chaos('a').concurrency = 9
    asked.push(...ask(4))
    expect(ring.report().signers).toMatchObject([{ running: 9, waiting: 5 }])
    await Promise.all(asked)
    controller.abort(new Error('the test is over'))
    await Promise.allSettled(stuck)
    expect(ring.report().signers).toMatchObject([{ running: 0, waiting: 0 }])
  })

  it('nobody waits for ever', async () => {
    const { open, chaos } = await openChaosRing(['a1'], { limits: { ...still, concurrency: 1, maxWaitMs: 10 } })
    const ring = await opened(open())
    chaos('a').tell({ fault: 'deaf' })
    const controller = newController()
    const first = ring.sign(order({ signal: controller.signal }))
    expect((await outage(ring.sign(order()))).message).toContain('waiting')
    const reason = new Error('the request is over')
    const second = ring.sign(order({ signal: controller.signal }))
    controller.abort(reason)
    for (const outcome of await Promise.allSettled([first, second]))
      expect(outcome).toMatchObject({ status: 'rejected', reason })
    expect(ring.report().signers).toMatchObject([{ waiting: 0, running: 0 }])
  })

  it('nobody waits for a circuit that has opened', async () => {
    const { open, chaos } = await openChaosRing(['a1'], { limits: { ...still, concurrency: 1, failures: 1 } })
    const ring = await opened(open())
    chaos('a').tell({ fault: 'throttle' })
    const errors = await Promise.all(Array.from({ length: 10 }, () => outage(ring.sign(order()))))
    expect(circuitOf(ring, 'a')).toBe('open')
    expect(errors.filter(({ message }) => message.includes('waiting for a successful probe'))).toHaveLength(9)
    expect(ring.report().signers).toMatchObject([{ waiting: 0, running: 0 }])
  })
})
