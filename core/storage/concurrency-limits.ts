import type { CounterStore, Entered, ConcurrencyLimits } from './ports.js'

/**
 * Slots that end at the same time: that time in milliseconds since the epoch, their number, and the bytes of their
 * entries.
 */
type Slice = readonly [until: number, places: number, bytes?: number]

const slicesOfTtl = 16

const total = (slices: readonly Slice[]): number => slices.reduce((sum, [, places]) => sum + places, 0)
const totalBytes = (slices: readonly Slice[]): number => slices.reduce((sum, [, , bytes = 0]) => sum + bytes, 0)

/** Adds to the slice that ends at `until` and drops empty slices. The order is by time. */
const add = (slices: readonly Slice[], until: number, places: number, bytes: number): readonly Slice[] => {
  const [, before = 0, bytesBefore = 0] = slices.find(([end]) => end === until) ?? []
  const others = slices.filter(([end]) => end !== until)
  const changed: readonly Slice[] =
    before + places > 0 ? [...others, [until, before + places, Math.max(0, bytesBefore + bytes)]] : others
  return changed.toSorted(([left], [right]) => left - right)
}

const write = (slices: readonly Slice[]) => {
  const last = slices.at(-1)
  return last === undefined ? null : { state: slices, forgetAt: last[0] }
}

/** Counts slots in slices of time, so that the state stays a few hundred bytes whatever their number. */
export const createConcurrencyLimits = (counters: CounterStore): ConcurrencyLimits => ({
  enter: (namespace, id, { most, bytes, mostBytes, ttlSeconds }) =>
    counters.update<readonly Slice[], Entered>(namespace, id, (state = [], now) => {
      const sliceMs = Math.ceil((ttlSeconds * 1000) / slicesOfTtl)
      const until = (Math.floor((now + ttlSeconds * 1000) / sliceMs) + 1) * sliceMs
      // Slices that end later come from a clock that was set back, or from a longer configured time.
      const taken = state.filter(([end]) => end > now && end <= until + sliceMs)
      const [first] = taken
      if (first !== undefined && (total(taken) >= most || totalBytes(taken) + bytes > mostBytes))
        return { result: { allowed: false, retryAfterSeconds: Math.ceil((first[0] - now) / 1000) } }
      return { result: { allowed: true, until }, write: write(add(taken, until, 1, bytes)) }
    }),
  leave: (namespace, id, until, bytes) =>
    counters.update<readonly Slice[], void>(namespace, id, (state = []) =>
      state.some(([end]) => end === until)
        ? { result: undefined, write: write(add(state, until, -1, -bytes)) }
        : { result: undefined },
    ),
})
