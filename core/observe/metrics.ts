import { Counter, Gauge, Registry } from 'prom-client'

/** Names and values of labels. Never a `client_id` or a `sub`: a label's values must be few, and nobody's business. */
export type Labels = Readonly<Record<string, string>>

export interface Sample {
  readonly labels: Labels
  readonly value: number
}

/** A number that somebody else counts: it is asked for when the metrics are read. */
export interface Observation {
  readonly type: 'counter' | 'gauge'
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly read: () => Iterable<Sample>
}

/** What is told to Prometheus. Counting happens where things happen; nothing here is on the way of a request. */
export interface Metrics {
  /** A name may be registered once. */
  observe(observation: Observation): void
  /** The text format of Prometheus, and its media type. */
  expose(): Promise<{ readonly type: string; readonly text: string }>
}

export const createMetrics = (): Metrics => {
  const registry = new Registry()
  return {
    observe({ type, name, help, labels, read }) {
      const common = { name, help, labelNames: [...labels], registers: [registry] }
      // What is gone since the last reading is told no more.
      if (type === 'counter') {
        new Counter({
          ...common,
          collect() {
            this.reset()
            for (const { labels: of, value } of read()) this.inc(of, value)
          },
        })
      } else {
        new Gauge({
          ...common,
          collect() {
            this.reset()
            for (const { labels: of, value } of read()) this.set(of, value)
          },
        })
      }
    },
    async expose() {
      return { type: registry.contentType, text: await registry.metrics() }
    },
  }
}
