import { describe, expect, it } from 'vitest'
import { createFigures, sumFigures } from '../../core/observe/figures.js'

const minute = 60_000

const start = () => {
  const state = { now: Date.UTC(2026, 10, 26, 12, 0, 30) }
  return { state, figures: createFigures(() => state.now) }
}

describe('figures', () => {
  it('count tokens, refusals and requests by minutes and by quarters of an hour', () => {
    const { state, figures } = start()
    figures.event({ event: 'token.issued' })
    figures.event({ event: 'attestation.issued' })
    figures.event({ event: 'token.refused' })
    // One line may stand for many.
    figures.event({ event: 'client.refused', count: 7 })
    figures.event({ event: 'login.succeeded' })
    for (let ms = 1; ms <= 100; ms++) figures.request({ milliseconds: ms })
    state.now += minute
    figures.event({ event: 'token.issued' })
    const { minutes, quarters } = figures.read()
    const [first, second] = minutes
    expect(first).toMatchObject({ tokens: 2, refusals: 8, requests: 100 })
    expect(first!.p50).toBeGreaterThanOrEqual(50)
    expect(first!.p50).toBeLessThan(100)
    expect(first!.p99).toBeGreaterThanOrEqual(99)
    expect(second).toMatchObject({ tokens: 1, refusals: 0, requests: 0, p50: 0, p99: 0 })
    expect(quarters).toEqual([expect.objectContaining({ tokens: 3, refusals: 8, requests: 100 })])
  })

  it('keep an hour of minutes and a day of quarters, whatever happens in between', () => {
    const { state, figures } = start()
    for (let step = 0; step < 2 * 24 * 60; step++) {
      figures.event({ event: 'token.issued' })
      state.now += minute
    }
    const { minutes, quarters } = figures.read()
    expect(minutes.length).toBeLessThanOrEqual(60)
    expect(minutes.every(({ tokens }) => tokens === 1)).toBe(true)
    expect(quarters.length).toBeLessThanOrEqual(96)
    expect(quarters.slice(1, -1).every(({ tokens }) => tokens === 15)).toBe(true)
    state.now += 2 * 24 * 60 * minute
    expect(figures.read()).toEqual({ minutes: [], quarters: [] })
  })

  it('of several processes are added by time, and the slowest counts', () => {
    const one = { at: 0, tokens: 1, refusals: 2, requests: 30, p50: 1, p99: 5 }
    const other = { at: 0, tokens: 10, refusals: 0, requests: 10, p50: 5, p99: 90 }
    expect(sumFigures([[one, { ...one, at: minute }], [other]])).toEqual([
      { at: 0, tokens: 11, refusals: 2, requests: 40, p50: 2, p99: 90 },
      { ...one, at: minute },
    ])
  })
})
