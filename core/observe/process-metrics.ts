import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Metrics, Observation } from './metrics.js'

/** Milliseconds between two measurements of the histogram. */
const resolution = 10

const nanoseconds = 1e9

/** Measures this process under the names that Prometheus' own clients use. Returns a function that stops it. */
export const observeProcess = (metrics: Metrics): (() => void) => {
  const delay = monitorEventLoopDelay({ resolution })
  delay.enable()
  const one = (type: Observation['type'], name: string, help: string, read: () => number): void =>
    metrics.observe({ type, name, help, labels: [], read: () => [{ labels: {}, value: read() }] })

  metrics.observe({
    type: 'gauge',
    name: 'signet_event_loop_lag_seconds',
    help: 'Delay of the event loop since the last reading.',
    labels: ['quantile'],
    *read() {
      const lag = (value: number): number => Math.max(0, value / nanoseconds - resolution / 1000) || 0
      yield { labels: { quantile: '0.5' }, value: lag(delay.percentile(50)) }
      yield { labels: { quantile: '0.99' }, value: lag(delay.percentile(99)) }
      yield { labels: { quantile: '1' }, value: lag(delay.max) }
      delay.reset()
    },
  })
  one('gauge', 'process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss())
  one('gauge', 'nodejs_heap_size_used_bytes', 'Heap in use.', () => process.memoryUsage().heapUsed)
  one('gauge', 'nodejs_heap_size_total_bytes', 'Heap.', () => process.memoryUsage().heapTotal)
  one('counter', 'process_cpu_seconds_total', 'Processor time.', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  const startedAt = Date.now() / 1000 - process.uptime()
  one('gauge', 'process_start_time_seconds', 'Start, in seconds since the epoch.', () => startedAt)
  return () => {
    delay.disable()
  }
}
