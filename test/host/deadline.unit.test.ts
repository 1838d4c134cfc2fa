import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { atMost, until, withDeadline } from '../../core/deadline.js'

const never = (): Promise<never> => new Promise<never>(() => undefined)

describe('work under a shared deadline', () => {
  it('returns the result of the work', async () => {
    const { signal } = new AbortController()
    await expect(until(signal, async () => 'done')).resolves.toBe('done')
    await expect(until(signal, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  })

  it('ends all pending work with the reason of the signal, and adds one listener to it', async () => {
    const controller = new AbortController()
    const stuck = Array.from({ length: 50 }, () => until(controller.signal, never))
    const done = await until(controller.signal, async () => 'done')
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
    controller.abort(new Error('too late'))
    const outcomes = await Promise.allSettled(stuck)
    expect(done).toBe('done')
    for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason: new Error('too late') })
  })

  it('starts nothing under a signal that is already aborted', async () => {
    let begun = false
    const work = async (): Promise<void> => {
      begun = true
    }
    await expect(until(AbortSignal.abort(new Error('too late')), work)).rejects.toThrow('too late')
    expect(begun).toBe(false)
  })
})

describe('work with a deadline of its own', () => {
  const late = (): Error => new Error('too late')

  it('ends in time with the error of the deadline, whether or not the work heeds its signal', async () => {
    let given: AbortSignal | undefined
    const stuck = (signal: AbortSignal): Promise<never> => {
      given = signal
      return never()
    }
    await expect(withDeadline(1, stuck, late)).rejects.toThrow('too late')
    expect(given?.reason).toEqual(new Error('too late'))
  })

  it('ends with the outer signal, which it leaves unchanged', async () => {
    const outer = new AbortController()
    const stuck = Array.from({ length: 50 }, () => withDeadline(60_000, never, late, outer.signal))
    await expect(withDeadline(60_000, async () => 'done', late, outer.signal)).resolves.toBe('done')
    expect(getEventListeners(outer.signal, 'abort')).toHaveLength(1)
    outer.abort(new Error('the caller left'))
    for (const work of stuck) await expect(work).rejects.toThrow('the caller left')
    await expect(withDeadline(60_000, async () => 'done', late, outer.signal)).rejects.toThrow('the caller left')
  })

  it('abandons work that never ends', async () => {
    await expect(atMost(1, never())).resolves.toBeUndefined()
    await expect(atMost(60_000, Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  })
})
