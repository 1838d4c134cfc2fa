import { expect, it } from 'vitest'
import { RecentMap } from '../../core/recent-map.js'

const filled = (most: number, count: number): RecentMap<number, string> => {
  const map = new RecentMap<number, string>(most)
  for (let key = 0; key < count; key++) map.set(key, String(key))
  return map
}

/** Each is looked for in a map of its own: asking changes what is held. */
const held = (most: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, key) => key).filter((key) => filled(most, count).get(key) === String(key))

it('keeps the latest entries: at most its limit, and at least half of it', () => {
  for (let count = 1; count < 40; count++) {
    const kept = held(10, count)
    expect(kept.length).toBeLessThanOrEqual(10)
    expect(kept.length).toBeGreaterThanOrEqual(Math.min(count, 5))
    expect(kept).toEqual(Array.from(kept, (_, index) => count - kept.length + index))
  }
})

it('keeps entries that are read', () => {
  const map = filled(10, 1)
  for (let key = 1; key < 100; key++) {
    map.set(key, String(key))
    expect(map.get(0)).toBe('0')
  }
  expect(map.get(50)).toBeUndefined()
})

it('returns the latest value', () => {
  const map = filled(4, 3)
  map.set(0, 'new')
  expect(map.get(0)).toBe('new')
})
