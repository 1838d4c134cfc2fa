import { describe, expect, it } from 'vitest'
import { KeysRefused } from '../../core/keys/key-ring.js'
import { Unavailable } from '../../core/unavailable.js'
import { circuitOf, keyReport, never, openChaosRing, order, verifies } from '../support/signers/signer-ring.js'

/** Nothing is proved in the background: the test decides when. */
const still = { probeMs: 1_000_000, maxProbeMs: 1_000_000 }
const soon = { probeMs: 5, maxProbeMs: 20 }

describe('F16 invalid signatures', () => {
  it('10,000 signatures through a backend that flips one bit in 100: none of the bad ones leaves', async () => {
    const { open, chaos } = await openChaosRing(['a1', 'b1'], { limits: still })
    await using ring = await open()
    const a = chaos('a')
    a.tell({ fault: 'flip', everyNth: 100 })
    let bad = 0
    let byOther = 0
    const one = async (): Promise<void> => {
      const made = await ring.sign(order())
      if (!(await verifies(ring, made))) bad++
      if (made.kid === 'b1') byOther++
      // The key is out of service until it passes a probe.
      if (keyReport(ring, 'a1').trust !== 'proved') await ring.probe(never, 'a')
    }
    let left = 10_000
    const caller = async (): Promise<void> => {
      while (left-- > 0) await one()
    }
    await Promise.all(Array.from({ length: 64 }, caller))
    expect(bad).toBe(0)
    expect(a.struck).toBeGreaterThanOrEqual(80)
    expect(a.calls).toBeGreaterThan(8000)
    expect(byOther).toBeGreaterThan(0)
    const { calls } = keyReport(ring, 'a1')
    expect(calls.bad_signature).toBeGreaterThan(50)
    expect(calls.signed + byOther).toBe(10_000)
  })

  it.each(['flip', 'truncate', 'der', 'wrong_key'] as const)(
    '%s: refused, quarantined, reported; back after a probe',
    async (fault) => {
      const { open, chaos, events } = await openChaosRing(['a1'], { limits: still })
      await using ring = await open()
      chaos('a').tell({ fault })
      await expect(ring.sign(order())).rejects.toBeInstanceOf(Unavailable)
      expect(keyReport(ring, 'a1')).toMatchObject({ trust: 'quarantined', quarantines: 1 })
      expect(events).toMatchObject([{ event: 'signer.quarantined', kid: 'a1', signer: 'a' }])
      expect(ring.publishedKey('a1')).toBeDefined()

      // Nothing is asked of it any more, and a probe that fails changes nothing.
      const { calls } = chaos('a')
      await expect(ring.sign(order())).rejects.toBeInstanceOf(Unavailable)
      expect(chaos('a').calls).toBe(calls)
      expect(await ring.probe(never)).toMatchObject([{ kid: 'a1', outcome: 'failed' }])
      expect(keyReport(ring, 'a1').quarantines).toBe(1)

      chaos('a').tell({})
      expect(await ring.probe(never)).toMatchObject([{ kid: 'a1', outcome: 'passed' }])
      expect(await verifies(ring, await ring.sign(order()))).toBe(true)
      expect(events.map(({ event }) => event)).toEqual(['signer.quarantined', 'signer.recovered'])
    },
  )

  it('continues with the next key, for which the request is rewritten', async () => {
    const { open, chaos, events } = await openChaosRing(['a1', 'b1'], { limits: still })
    await using ring = await open()
    chaos('a').tell({ fault: 'flip' })
    const made = await ring.sign(order({ clientId: 'teller' }))
    expect(made).toMatchObject({ kid: 'b1', signer: 'b' })
    expect(await verifies(ring, made)).toBe(true)
    expect(events).toContainEqual({
      event: 'signer.failover',
      client_id: 'teller',
      purpose: 'access_token',
      alg: 'ES256',
      from_kid: 'a1',
      from_signer: 'a',
      kid: 'b1',
      signer: 'b',
      reason: 'a signature of a1 does not verify with its published key',
    })
  })

  it('recovers by itself when the backend does', async () => {
    const { open, chaos } = await openChaosRing(['a1'], { limits: soon })
    await using ring = await open()
    chaos('a').tell({ fault: 'wrong_key' })
    await expect(ring.sign(order())).rejects.toBeInstanceOf(Unavailable)
    chaos('a').tell({})
    await expect.poll(() => keyReport(ring, 'a1').trust).toBe('proved')
  })
})

describe('F17 another key behind the same name', () => {
  it('is found when the backend comes back', async () => {
    const { open, chaos } = await openChaosRing(['a1', 'b1'], { limits: { ...soon, failures: 2 } })
    await using ring = await open()
    chaos('a').tell({ fault: 'throttle' })
    for (let n = 0; n < 2; n++) await ring.sign(order())
    expect(circuitOf(ring, 'a')).not.toBe('closed')
    chaos('a').tell({ fault: 'wrong_key' })
    await expect.poll(() => [circuitOf(ring, 'a'), keyReport(ring, 'a1').trust]).toEqual(['closed', 'quarantined'])
    expect((await ring.sign(order())).kid).toBe('b1')
  })
})

describe('F32 a key whose backend was away at the start', () => {
  it('is opened once when two probes come at the same time', async () => {
    const { open, chaos } = await openChaosRing(['a1'], { limits: still })
    chaos('a').tell({ opening: 'down' })
    await using ring = await open()
    chaos('a').tell({})
    const before = chaos('a').opened
    await Promise.all([ring.probe(never), ring.probe(never)])
    expect(chaos('a').opened - before).toBe(1)
    expect(keyReport(ring, 'a1').trust).toBe('proved')
  })
})

describe('F15 a backend that refuses', () => {
  it('is not asked again and again: the next key signs', async () => {
    const { open, chaos, events } = await openChaosRing(['a1', 'b1'], { limits: still })
    await using ring = await open()
    chaos('a').tell({ fault: 'refuse' })
    const before = chaos('a').calls
    for (let n = 0; n < 200; n++) expect((await ring.sign(order())).kid).toBe('b1')
    expect(chaos('a').calls - before).toBe(1)
    expect(keyReport(ring, 'a1')).toMatchObject({ trust: 'refused', reason: 'AccessDeniedException' })
    expect(circuitOf(ring, 'a')).toBe('closed')
    expect(events.map(({ event }) => event)).toEqual(['signer.refused', 'signer.failover'])

    chaos('a').tell({})
    await ring.probe(never)
    expect((await ring.sign(order())).kid).toBe('a1')
  })

  it('one key that is refused leaves the others of its signer in service', async () => {
    const { open, chaos } = await openChaosRing(['a1', 'a2'], { limits: still })
    await using ring = await open()
    chaos('a').tell({ fault: 'refuse', forRef: 'a1' })
    for (let n = 0; n < 20; n++) expect((await ring.sign(order())).kid).toBe('a2')
  })

  it('stops the start, with the path of the key', async () => {
    const { open, chaos } = await openChaosRing(['a1', 'b1'])
    chaos('b').tell({ opening: 'refused' })
    const error: unknown = await open().catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(KeysRefused)
    expect((error as KeysRefused).problems).toEqual([{ path: 'keys[1]', message: 'b1 is pending deletion' }])
  })
})

describe('F32 a backend that is down at the start', () => {
  it('its key is unknown and unpublished, others serve; it is opened, published and proved when it answers', async () => {
    const { open, chaos } = await openChaosRing(['a1', 'b1'], { limits: soon })
    chaos('a').tell({ opening: 'down' })
    await using ring = await open()
    expect((await ring.sign(order())).kid).toBe('b1')
    expect(ring.publishedKey('a1')).toBeUndefined()
    expect(keyReport(ring, 'a1')).toMatchObject({ trust: 'unopened', reason: expect.stringMatching('ECONNREFUSED') })
    await expect.poll(() => chaos('a').opened).toBeGreaterThan(2)

    chaos('a').tell({})
    await expect.poll(() => keyReport(ring, 'a1').trust).toBe('proved')
    expect((await ring.sign(order())).kid).toBe('a1')
    expect(JSON.parse(ring.keySet().body.toString()).keys.map(({ kid }: { kid: string }) => kid)).toEqual(['a1', 'b1'])
  })

  it('starts without any key', async () => {
    const { open, chaos } = await openChaosRing(['a1'], { limits: soon })
    chaos('a').tell({ opening: 'down' })
    await using ring = await open()
    await expect(ring.sign(order())).rejects.toBeInstanceOf(Unavailable)
    chaos('a').tell({})
    await expect
      .poll(() =>
        ring.sign(order()).then(
          ({ kid }) => kid,
          () => undefined,
        ),
      )
      .toBe('a1')
  })

  it('a key that opens but does not sign its first probe signs nothing else', async () => {
    const { open, chaos } = await openChaosRing(['a1', 'b1'], { limits: still })
    chaos('a').tell({ fault: 'throttle' })
    await using ring = await open()
    expect(ring.publishedKey('a1')).toBeDefined()
    expect(keyReport(ring, 'a1').trust).toBe('unproved')
    expect((await ring.sign(order())).kid).toBe('b1')
  })

  it('one key under two names is found late as it is at the start', async () => {
    const { open, chaos } = await openChaosRing(['a1', 'b1'], { limits: soon })
    chaos('a').tell({ opening: 'down' })
    await using ring = await open()
    chaos('a').keys.set('a1', chaos('b').keys.get('b1')!)
    chaos('a').tell({})
    await expect.poll(() => keyReport(ring, 'a1')).toMatchObject({ trust: 'refused', reason: 'is the same key as b1' })
    expect(ring.publishedKey('a1')).toBeUndefined()
  })
})
