import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { until } from '../../core/outbound/until.js'

const never = (): Promise<never> => new Promise<never>(() => undefined)

describe('work under a shared deadline', () => {
  it('gives back what the work ends with', async () => {
    const { signal } = new AbortController()
    await expect(until(signal, async () => 'done')).resolves.toBe('done')
    await expect(until(signal, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  })

  it('ends all that still wait with the reason of the signal, and costs it one listener', async () => {
    const controller = new AbortController()
    const stuck = Array.from({ length: 50 }, () => until(controller.signal, never))
    const done = await until(controller.signal, async () => 'done')
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
    controller.abort(new Error('too late'))
    const outcomes = await Promise.allSettled(stuck)
    expect(done).toBe('done')
    for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason: new Error('too late') })
  })

  it('begins nothing under a signal that is aborted already', async () => {
    let begun = false
    const work = async (): Promise<void> => {
      begun = true
    }
    await expect(until(AbortSignal.abort(new Error('too late')), work)).rejects.toThrow('too late')
    expect(begun).toBe(false)
  })
})
