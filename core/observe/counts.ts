/**
 * Names and values of labels. They never include a `client_id` or a `sub`: values of a label must be few, and are
 * visible to everyone with access to metrics.
 */
export type Labels = Readonly<Record<string, string>>

export interface Sample {
  readonly labels: Labels
  readonly value: number
}

/** The most series per metric. Further ones are counted under `other`. */
const maxSeries = 1000

const labelsOf = (names: readonly string[], values: readonly string[]): Labels =>
  Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))

/** A value for each combination of label values. */
class Series<T> {
  readonly #names: readonly string[]
  readonly #make: () => T
  readonly #byKey = new Map<string, { readonly labels: Labels; readonly kept: T }>()

  constructor(names: readonly string[], make: () => T) {
    this.#names = names
    this.#make = make
  }

  of(...values: readonly string[]): T {
    const key = values.join('\n')
    const known = this.#byKey.get(key)
    if (known !== undefined) return known.kept
    const isFull = this.#byKey.size >= maxSeries && values.some((value) => value !== 'other')
    return isFull ? this.of(...values.map(() => 'other')) : this.#add(key, values)
  }

  #add(key: string, values: readonly string[]): T {
    const kept = this.#make()
    this.#byKey.set(key, { labels: labelsOf(this.#names, values), kept })
    return kept
  }

  values(): Iterable<{ readonly labels: Labels; readonly kept: T }> {
    return this.#byKey.values()
  }
}

/** A number that only grows. Counting costs one addition; the value is read when the metrics are. */
export interface Tally {
  value: number
}

/** Tallies by labels. */
export class Counts {
  readonly #series: Series<Tally>

  constructor(...names: readonly string[]) {
    this.#series = new Series(names, () => ({ value: 0 }))
  }

  /** The tally for these label values, in the order of the label names. Frequent callers keep it. */
  of(...values: readonly string[]): Tally {
    return this.#series.of(...values)
  }

  read = (): readonly Sample[] => [...this.#series.values()].map(({ labels, kept: { value } }) => ({ labels, value }))
}

/** Upper bounds in seconds. */
export const durationBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const

/** A histogram of durations: counts per bound, not cumulative. */
export class Durations {
  readonly counts: number[] = Array.from({ length: durationBounds.length + 1 }, () => 0)
  /** The total, in seconds. */
  sum = 0

  add(milliseconds: number): void {
    const seconds = milliseconds / 1000
    let index = 0
    while (index < durationBounds.length && seconds > (durationBounds[index] as number)) index++
    this.counts[index] = (this.counts[index] as number) + 1
    this.sum += seconds
  }
}

export interface DurationSample {
  readonly labels: Labels
  readonly durations: Durations
}

/** Histograms by labels. */
export class DurationsBy {
  readonly #series: Series<Durations>

  constructor(...names: readonly string[]) {
    this.#series = new Series(names, () => new Durations())
  }

  of(...values: readonly string[]): Durations {
    return this.#series.of(...values)
  }

  read = (): readonly DurationSample[] =>
    [...this.#series.values()].map(({ labels, kept: durations }) => ({ labels, durations }))
}
