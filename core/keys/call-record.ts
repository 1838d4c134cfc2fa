/** Outcome of one attempt to get a signature. With `overflow` and `circuit_open` the backend was not called. */
export const callOutcomes = [
  'signed',
  'bad_signature',
  'refused',
  'unavailable',
  'timeout',
  'overflow',
  'circuit_open',
  'aborted',
] as const

export type CallOutcome = (typeof callOutcomes)[number]

/** Milliseconds. */
export interface Latency {
  readonly count: number
  readonly p50: number
  readonly p99: number
}

const kept = 512

/** Calls of one key: counts by outcome, and the latencies of the last 512 signatures and probes. */
export class CallRecord {
  readonly outcomes: Record<CallOutcome, number>
  readonly #milliseconds = new Float64Array(kept)
  #count = 0

  constructor() {
    this.outcomes = Object.fromEntries(callOutcomes.map((outcome) => [outcome, 0])) as Record<CallOutcome, number>
  }

  /** Records the latency of a signature. */
  took(milliseconds: number): void {
    this.#milliseconds[this.#count++ % kept] = milliseconds
  }

  /** Returns undefined before the first signature. */
  latency(): Latency | undefined {
    const count = Math.min(this.#count, kept)
    if (count === 0) return undefined
    const sorted = this.#milliseconds.slice(0, count).sort()
    const at = (part: number): number => sorted[Math.ceil(part * count) - 1] ?? NaN
    return { count, p50: at(0.5), p99: at(0.99) }
  }
}
