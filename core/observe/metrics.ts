import { Counter, Gauge, Registry, type Histogram } from 'prom-client'
import { durationBounds, type DurationSample, type Labels, type Sample } from './counts.js'

/** A value counted elsewhere and read when the metrics are. */
export interface Observation {
  readonly type: 'counter' | 'gauge'
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly read: () => Iterable<Sample>
}

/** Durations counted elsewhere. */
export interface DurationObservation extends Omit<Observation, 'type' | 'read'> {
  readonly type: 'histogram'
  readonly read: () => Iterable<DurationSample>
}

/** The Prometheus metrics. Values are counted where things happen; nothing here runs during a request. */
export interface Metrics {
  /** Each name may be registered once. */
  observe(observation: Observation | DurationObservation): void
  /** The Prometheus text format, and its media type. */
  expose(): Promise<{ readonly type: string; readonly text: string }>
}

export const createMetrics = (): Metrics => {
  const registry = new Registry()
  return {
    observe(observation) {
      if (observation.type === 'histogram') return registry.registerMetric(histogramOf(observation))
      const { type, name, help, labels, read } = observation
      const common = { name, help, labelNames: [...labels], registers: [registry] }
      // Series that have disappeared since the last reading are no longer reported.
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

/** The metrics of one issuer, with its name on each sample. */
export const metricsOf = (issuer: string, metrics: Pick<Metrics, 'observe'>): Pick<Metrics, 'observe'> => ({
  observe(observation) {
    const labels = [...observation.labels, 'issuer']
    const named = <S extends { readonly labels: Labels }>(samples: Iterable<S>): readonly S[] =>
      [...samples].map((sample) => ({ ...sample, labels: { ...sample.labels, issuer } }))
    metrics.observe(
      observation.type === 'histogram'
        ? { ...observation, labels, read: () => named(observation.read()) }
        : { ...observation, labels, read: () => named(observation.read()) },
    )
  },
})

/** The output of prom-client's own histogram, which would itself count during a request. */
const histogramOf = ({ name, help, read }: DurationObservation): Histogram => {
  const valuesOf = ({ labels, durations: { counts, sum } }: DurationSample) => {
    let count = 0
    const buckets = counts.map((more, index) => {
      count += more
      return { metricName: `${name}_bucket`, labels: { ...labels, le: durationBounds[index] ?? '+Inf' }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ]
  }
  const get = () => Promise.resolve({ name, help, type: 'histogram', values: [...read()].flatMap(valuesOf) })
  return { name, get } as unknown as Histogram
}
