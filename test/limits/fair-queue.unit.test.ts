import { describe, expect, it } from 'vitest'
import { FairQueue } from '../../core/fair-queue.js'
import type { SignaturePriority } from '../../core/keys/ports.js'

interface Item {
  readonly priority: SignaturePriority
  readonly owner: string
  readonly n: number
}

const priorities: readonly SignaturePriority[] = ['sign_in', 'refresh', 'machine', 'renewal']

const item = (owner: string, n: number, priority: SignaturePriority = 'machine'): Item => ({ priority, owner, n })

const drain = (queue: FairQueue<SignaturePriority, Item>): string[] => {
  const names: string[] = []
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) names.push(`${next.owner}${next.n}`)
  return names
}

describe('the queue of a signer', () => {
  it('lets sign-ins go before refreshes, machines and renewals', () => {
    const queue = new FairQueue<SignaturePriority, Item>(10, priorities)
    for (const priority of ['renewal', 'machine', 'refresh', 'sign_in'] as const)
      queue.push(item(priority, 1, priority))
    expect(drain(queue)).toEqual(['sign_in1', 'refresh1', 'machine1', 'renewal1'])
  })

  it('lets clients take turns, each in its own order', () => {
    const queue = new FairQueue<SignaturePriority, Item>(20, priorities)
    for (let n = 1; n <= 5; n++) queue.push(item('greedy', n))
    queue.push(item('a', 1))
    queue.push(item('b', 1))
    queue.push(item('a', 2))
    expect(drain(queue)).toEqual(['greedy1', 'a1', 'b1', 'greedy2', 'a2', 'greedy3', 'greedy4', 'greedy5'])
    expect(queue.size).toBe(0)
  })

  it('is bounded: the client with the most slots gives one up to clients with fewer', () => {
    const queue = new FairQueue<SignaturePriority, Item>(4, priorities)
    const greedy = [1, 2, 3, 4].map((n) => item('greedy', n))
    for (const one of greedy) expect(queue.push(one)).toBeUndefined()
    const more = item('greedy', 5)
    expect(queue.push(more)).toBe(more)
    expect(queue.push(item('modest', 1))).toBe(greedy[3])
    expect(queue.push(item('modest', 2))).toBe(greedy[2])
    const third = item('modest', 3)
    expect(queue.push(third)).toBe(third)
    expect(queue.size).toBe(4)
    expect(drain(queue)).toEqual(['greedy1', 'modest1', 'greedy2', 'modest2'])
  })

  it('gives slots of lower priorities to higher ones, never the reverse', () => {
    const queue = new FairQueue<SignaturePriority, Item>(2, priorities)
    const machines = [item('m', 1), item('m', 2)]
    for (const one of machines) queue.push(one)
    const renewal = item('r', 1, 'renewal')
    expect(queue.push(renewal)).toBe(renewal)
    expect(queue.push(item('p', 1, 'sign_in'))).toBe(machines[1])
    expect(queue.push(item('p', 2, 'sign_in'))).toBe(machines[0])
    expect(drain(queue)).toEqual(['p1', 'p2'])
  })

  it('forgets clients that no longer wait', () => {
    const queue = new FairQueue<SignaturePriority, Item>(4, priorities)
    const items = [item('a', 1), item('a', 2), item('b', 1)]
    for (const one of items) queue.push(one)
    queue.remove(items[0] as Item)
    queue.remove(items[0] as Item)
    queue.remove(item('c', 1))
    expect(queue.size).toBe(2)
    expect(drain(queue)).toEqual(['a2', 'b1'])
  })
})
