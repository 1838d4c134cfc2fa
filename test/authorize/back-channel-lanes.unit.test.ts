import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createOutbox } from '../../core/oauth/back-channel/outbox.js'
import { createLanes } from '../../core/oauth/back-channel/lanes.js'
import { startSender, type SendResult } from '../../core/oauth/back-channel/sender.js'
import { noLog } from '../../core/observe/log.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { collectionsOf } from '../support/forge/mint.js'
import { openTestRecords } from '../support/stores/test-stores.js'

/** Work that ends when it is told to. */
const heldWork = () => {
  const ends: (() => void)[] = []
  const work = () => new Promise<void>((resolve) => ends.push(resolve))
  return { work, begun: () => ends.length, end: () => ends.splice(0).forEach((resolve) => resolve()) }
}

describe('the lanes of hosts', () => {
  const limits = { atWork: 2, waiting: 3, inAll: 8, forFailing: 2 }
  const failing = new Set<string>()
  const open = (ended = () => {}) => createLanes(limits, (host) => failing.has(host), ended)
  let id = 0
  const offer = (lanes: ReturnType<typeof open>, host: string, held: ReturnType<typeof heldWork>, count = 1) =>
    Array.from({ length: count }, () => lanes.offer(host, String(id++), held.work)).filter(Boolean).length

  it('LO11 a host has limits of its own for running and waiting deliveries', async () => {
    const [slow, sound] = [heldWork(), heldWork()]
    let ended = 0
    const lanes = open(() => void ended++)
    expect(offer(lanes, 'slow', slow, 7)).toBe(5)
    expect(slow.begun()).toBe(2)
    expect(offer(lanes, 'sound', sound, 7)).toBe(5)
    expect(sound.begun()).toBe(2)
    sound.end()
    await expect.poll(() => ended).toBe(2)
    expect(sound.begun()).toBe(2)
    for (const end of [sound.end, slow.end, sound.end, slow.end, slow.end]) {
      end()
      await Promise.resolve()
    }
    await lanes.close()
    expect(ended).toBeLessThanOrEqual(10)
  })

  it('LO11 the second half of the slots is for hosts that have none, and a part for hosts that fail', async () => {
    const held = heldWork()
    const lanes = open()
    for (const host of ['a', 'b', 'c', 'd']) offer(lanes, host, held, 5)
    // Two for the first two hosts, one for each of the others.
    expect(held.begun()).toBe(6)
    for (const host of ['w', 'x', 'y', 'z']) failing.add(host)
    expect(['w', 'x', 'y', 'z'].map((host) => offer(lanes, host, held, 9))).toEqual([4, 4, 0, 0])
    expect(held.begun()).toBe(8)
    const closed = lanes.close()
    held.end()
    await closed
    expect(held.begun()).toBe(0)
    failing.clear()
  })

  it('knows its deliveries by id', async () => {
    const held = heldWork()
    const lanes = open()
    for (const name of ['a', 'b', 'c', 'a', 'c']) expect(lanes.offer('one', name, held.work)).toBe(true)
    expect(held.begun()).toBe(2)
    const closed = lanes.close()
    held.end()
    await closed
  })
})

describe('LO11 hosts that hang', () => {
  const keep = disposeAfterAll()
  const folder = mkdtempSync(join(tmpdir(), 'signet-lanes-'))
  keep({ [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }) })

  it('delay no other host, neither at their first attempt nor at the next', async () => {
    let now = 1_000_000
    const clock = () => now
    const records = collectionsOf(keep(await openTestRecords(join(folder, 'store'), clock)))
    const outbox = createOutbox({
      kind: 'logout_token',
      records: records.logoutDeliveries,
      claims: records.logoutClaims,
      clock,
    })
    const hanging: ((result: SendResult) => void)[] = []
    const delivered: string[] = []
    const sender = startSender({
      complaint: 'Logout tokens cannot be delivered',
      outbox,
      async send({ host }) {
        if (host.startsWith('hangs')) return new Promise<SendResult>((resolve) => hanging.push(resolve))
        delivered.push(host)
        return { outcome: 'delivered' }
      },
      abandoned: async () => {},
      clock,
      log: noLog,
    })
    outbox.onAdded((milliseconds) => sender.wake(milliseconds))
    const add = async (host: string, count: number) =>
      outbox.add(Array.from({ length: count }, (_, index) => ({ clientId: host, subject: 'a', sid: `${index}`, host })))

    // Seven hosts, with enough for every place there is.
    for (let host = 0; host < 7; host++) await add(`hangs-${host}`, 30)
    now += 1000
    await expect.poll(() => hanging.length).toBe(7 * 4)
    await add('first', 5)
    now += 1000
    await expect.poll(() => delivered).toHaveLength(5)
    expect(hanging).toHaveLength(7 * 4)

    // Each has failed by now. Of so many more hosts as there are places, a part is tried at a time.
    for (let host = 7; host < 40; host++) await add(`hangs-${host}`, 1)
    now += 1000
    await expect.poll(() => hanging.length).toBe(7 * 4 + 33)
    for (const fail of hanging.splice(0)) fail({ outcome: 'failed', reason: 'deadline' })
    const hangingLater = () => {
      now += 3000
      return hanging.length
    }
    await expect.poll(hangingLater).toBe(32)
    await add('second', 5)
    now += 1000
    await expect.poll(() => delivered).toHaveLength(10)
    expect(hanging).toHaveLength(32)

    const closed = sender.close()
    for (const fail of hanging.splice(0)) fail({ outcome: 'failed', reason: 'deadline' })
    await closed
  })
})
