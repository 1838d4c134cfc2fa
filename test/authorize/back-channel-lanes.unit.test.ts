import { describe, expect, it } from 'vitest'
import { createLanes } from '../../core/oauth/back-channel/lanes.js'

/** Work that ends when it is told to. */
const heldWork = () => {
  const ends: (() => void)[] = []
  const work = () => new Promise<void>((resolve) => ends.push(resolve))
  return { work, begun: () => ends.length, end: () => ends.splice(0).forEach((resolve) => resolve()) }
}

describe('the lanes of hosts', () => {
  const limits = { atWork: 2, waiting: 3, inAll: 9 }

  it('LO11 a host has so many at work and so many waiting, whatever another has', async () => {
    const [slow, sound] = [heldWork(), heldWork()]
    let ended = 0
    const lanes = createLanes(limits, () => void ended++)
    const taken = Array.from({ length: 7 }, () => lanes.offer('slow', slow.work))
    expect(taken).toEqual([true, true, true, true, true, false, false])
    expect(slow.begun()).toBe(2)
    expect(Array.from({ length: 5 }, () => lanes.offer('sound', sound.work))).toEqual([true, true, true, true, false])
    expect(sound.begun()).toBe(2)
    sound.end()
    await expect.poll(() => ended).toBe(2)
    expect(sound.begun()).toBe(2)
    expect(lanes.offer('third', sound.work)).toBe(true)
    slow.end()
    sound.end()
    await expect.poll(() => ended).toBe(7)
    slow.end()
    await lanes.close()
  })

  it('begins nothing more once it closes, and waits for what is at work', async () => {
    const held = heldWork()
    const lanes = createLanes(limits, () => undefined)
    for (let left = 4; left > 0; left--) lanes.offer('one', held.work)
    const closed = lanes.close()
    expect(held.begun()).toBe(2)
    held.end()
    await closed
    expect(held.begun()).toBe(0)
  })
})
