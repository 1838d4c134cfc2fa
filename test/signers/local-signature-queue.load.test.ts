import { generateKeyPairSync, verify } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Unavailable } from '../../core/api/signer.js'
import { loopQueue, poolQueue } from '../../signers/local/signature-queue.js'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const never = new AbortController().signal
const message = Buffer.from('message')

/** A key that counts how often something signs with it. */
const countingKey = () => {
  const key = {
    uses: 0,
    get key() {
      key.uses++
      return privateKey
    },
  }
  return key
}
/** Node looks at the key several times for one signature. */
const usesPerSignature = async (): Promise<number> => {
  const key = countingKey()
  await loopQueue(1).sign(null, key, message, never)
  return key.uses
}
const isValid = (signature: Uint8Array): boolean => verify(null, message, publicKey, signature)

describe('loop queue', () => {
  it('signs everything of one turn in one turn', async () => {
    const queue = loopQueue(Infinity)
    let turns = 0
    const count = (): void => {
      turns++
    }
    const signatures = Array.from({ length: 50 }, () => queue.sign(null, { key: privateKey }, message, never))
    setImmediate(count)
    const order = await Promise.all(signatures.map(async (signature) => [isValid(await signature), turns] as const))
    expect(order).toEqual(order.map(() => [true, 0]))
  })

  it('lets others have their turn when its time is over', async () => {
    const queue = loopQueue(0)
    let turns = 0
    let done = false
    const count = (): void => {
      turns++
      if (!done) setImmediate(count)
    }
    setImmediate(count)
    const signatures = Array.from({ length: 20 }, () => queue.sign(null, { key: privateKey }, message, never))
    const seen = await Promise.all(signatures.map(async (signature) => (isValid(await signature) ? turns : NaN)))
    done = true
    // One signature a turn, in the order in which they were asked for.
    expect(seen).toEqual(seen.map((_, index) => (seen[0] ?? 0) + index))
  })
})

describe.each([
  ['loop', () => loopQueue(1)],
  ['pool', () => poolQueue(1)],
] as const)('%s queue', (_, create) => {
  it('does not sign what was aborted while it waited', async () => {
    const queue = create()
    const key = countingKey()
    const controller = new AbortController()
    const reason = new Error('over')
    const first = queue.sign(null, { key: privateKey }, message, never)
    const waiting = queue.sign(null, key, message, controller.signal)
    const last = queue.sign(null, { key: privateKey }, message, never)
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    expect(key.uses).toBe(0)
    expect(isValid(await first) && isValid(await last)).toBe(true)
  })

  it('refuses what it cannot store, and works afterwards', async () => {
    const queue = create()
    const controller = new AbortController()
    const outcomes = Promise.allSettled(
      Array.from({ length: 10_100 }, () => queue.sign(null, { key: privateKey }, message, controller.signal)),
    )
    controller.abort(new Error('over'))
    const refused = (await outcomes).filter(
      (outcome) => outcome.status === 'rejected' && outcome.reason instanceof Unavailable,
    )
    expect(refused.length).toBeGreaterThanOrEqual(99)
    expect(refused.length).toBeLessThanOrEqual(100)
    expect(isValid(await queue.sign(null, { key: privateKey }, message, never))).toBe(true)
  })

  it('reports a failure as an outage and continues', async () => {
    const queue = create()
    // A digest that this key cannot be used with, and a message that is none: Node reports one later, one at once.
    const failures = [
      queue.sign('sha256', { key: privateKey }, message, never),
      queue.sign(null, { key: privateKey }, undefined as unknown as Uint8Array, never),
    ]
    for (const outcome of await Promise.allSettled(failures))
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) as unknown })
    expect(isValid(await queue.sign(null, { key: privateKey }, message, never))).toBe(true)
  })
})

describe('pool queue', () => {
  it('hands over no more than its width at a time', async () => {
    const queue = poolQueue(2)
    const key = countingKey()
    const each = await usesPerSignature()
    const signatures = Array.from({ length: 10 }, () => queue.sign(null, key, message, never))
    expect(key.uses).toBe(2 * each)
    expect((await Promise.all(signatures)).every(isValid)).toBe(true)
    expect(key.uses).toBe(10 * each)
  })
})
