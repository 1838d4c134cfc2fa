import type { Clock } from '../clock.js'
import type { AuditEvent } from './audit.js'

/** Counts and latencies of one span of time. */
export interface Figures {
  /** The start of the span, in milliseconds since the epoch. */
  readonly at: number
  /** Issued access tokens and attestations. */
  readonly tokens: number
  readonly refusals: number
  /** Answers of the public listener. */
  readonly requests: number
  /** Their durations in milliseconds, rounded up to a power of the square root of two. 0 without a request. */
  readonly p50: number
  readonly p99: number
}

/** The figures of one process: the last hour by minutes, and the last day by quarters of an hour. */
export interface ProcessFigures {
  readonly minutes: readonly Figures[]
  readonly quarters: readonly Figures[]
}

interface Count {
  at: number
  tokens: number
  refusals: number
  requests: number
  /** Counts of requests; bucket `index` is for at most 2 to the power of half the index, in milliseconds. */
  readonly durations: Uint32Array
}

const minuteMs = 60_000
const quarterMs = 15 * minuteMs
/** The last bucket is for everything beyond eight seconds. */
const buckets = 27

/** Counts of a fixed number of spans; the span of now replaces the oldest one. */
class Ring {
  readonly #spanMs: number
  readonly #counts: Count[]

  constructor(spanMs: number, length: number) {
    this.#spanMs = spanMs
    this.#counts = Array.from({ length }, () => ({
      ...{ at: NaN, tokens: 0, refusals: 0, requests: 0 },
      durations: new Uint32Array(buckets),
    }))
  }

  at(now: number): Count {
    const index = Math.floor(now / this.#spanMs)
    const count = this.#counts[index % this.#counts.length] as Count
    const at = index * this.#spanMs
    if (count.at !== at) {
      Object.assign(count, { at, tokens: 0, refusals: 0, requests: 0 })
      count.durations.fill(0)
    }
    return count
  }

  read(now: number): readonly Figures[] {
    const oldest = now - this.#spanMs * this.#counts.length
    return this.#counts
      .filter(({ at }) => at > oldest && at <= now)
      .toSorted((one, other) => one.at - other.at)
      .map(({ durations, ...count }) => ({
        ...count,
        p50: quantile(durations, count.requests, 0.5),
        p99: quantile(durations, count.requests, 0.99),
      }))
  }
}

const quantile = (durations: Uint32Array, total: number, share: number): number => {
  if (total === 0) return 0
  let below = 0
  const index = durations.findIndex((count) => (below += count) >= share * total)
  return Math.round(2 ** (index / 2) * 10) / 10
}

/** Figures of this process for the console. Counting takes a few additions. */
export interface FigureCounts {
  readonly event: (event: AuditEvent) => void
  readonly request: (answered: { readonly milliseconds: number }) => void
  read(): ProcessFigures
}

/** Creates rings of fixed size, in which the oldest figures are overwritten. */
export const createFigures = (clock: Clock): FigureCounts => {
  const rings = [new Ring(minuteMs, 60), new Ring(quarterMs, 96)] as const
  const counts = (): readonly Count[] => {
    const now = clock()
    return rings.map((ring) => ring.at(now))
  }
  return {
    event({ event, count }) {
      if (event === 'token.issued' || event === 'attestation.issued') for (const one of counts()) one.tokens++
      else if (event.endsWith('.refused'))
        for (const one of counts()) one.refusals += typeof count === 'number' ? count : 1
    },
    request({ milliseconds }) {
      const bucket = Math.min(buckets - 1, Math.max(0, Math.ceil(2 * Math.log2(milliseconds))))
      for (const one of counts()) {
        one.requests++
        one.durations[bucket] = (one.durations[bucket] ?? 0) + 1
      }
    },
    read() {
      const now = clock()
      const [minutes, quarters] = rings
      return { minutes: minutes.read(now), quarters: quarters.read(now) }
    },
  }
}

const added = (one: Figures, other: Figures): Figures => ({
  at: one.at,
  tokens: one.tokens + other.tokens,
  refusals: one.refusals + other.refusals,
  requests: one.requests + other.requests,
  // The median of several processes is unknown; weighing theirs is close, since all do the same work.
  p50: (one.p50 * one.requests + other.p50 * other.requests) / Math.max(1, one.requests + other.requests),
  p99: Math.max(one.p99, other.p99),
})

/** The sums of all processes by time. */
export const sumFigures = (all: readonly (readonly Figures[])[]): readonly Figures[] => {
  const sums = new Map<number, Figures>()
  for (const figures of all.flat()) {
    const known = sums.get(figures.at)
    sums.set(figures.at, known === undefined ? figures : added(known, figures))
  }
  return [...sums.values()].toSorted((one, other) => one.at - other.at)
}
