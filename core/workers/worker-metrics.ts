import { createMetrics, type Metrics } from '../observe/metrics.js'
import { askWorker } from './ask-worker.js'
import type { WorkerPool } from './worker-pool.js'

const deadlineMs = 2000

/**
 * The metrics of all workers, each series labelled with the number of its worker, and metrics about the workers
 * themselves.
 */
export const createWorkerMetrics = (pool: Pick<WorkerPool, 'sockets' | 'running' | 'restarts'>): Metrics => {
  const own = createMetrics()
  const one = (type: 'counter' | 'gauge', name: string, help: string, read: () => number): void =>
    own.observe({ type, name, help, labels: [], read: () => [{ labels: {}, value: read() }] })
  one('gauge', 'signet_workers', 'Configured workers.', () => pool.sockets.size)
  one('gauge', 'signet_workers_running', 'Running workers.', () => pool.running().length)
  one('counter', 'signet_worker_restarts_total', 'Workers that exited and were restarted.', () => pool.restarts)

  const textOf = async (number: number, socket: string): Promise<string> => {
    try {
      const { status, body } = await askWorker(socket, { path: '/metrics' }, AbortSignal.timeout(deadlineMs))
      return status === 200 ? labelled(body, `worker="${String(number)}"`) : ''
    } catch {
      // A worker that has exited has none.
      return ''
    }
  }

  return {
    observe: (observation) => own.observe(observation),
    async expose() {
      const { type, text } = await own.expose()
      const texts = await Promise.all([...pool.sockets].map(([number, socket]) => textOf(number, socket)))
      return { type, text: merge([text, ...texts]) }
    },
  }
}

/** Adds a label to every line with a value. */
const labelled = (text: string, label: string): string =>
  text.replaceAll(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/gm, (_, name: string, labels: string | undefined, value) => {
    return `${name}{${labels === undefined ? label : `${label},${labels}`}} ${String(value)}`
  })

/** Groups all lines of one metric below one header. */
const merge = (texts: readonly string[]): string => {
  const families = new Map<string, string[]>()
  for (const text of texts) {
    for (const block of text.split(/^(?=# HELP )/m)) {
      const lines = block.split('\n').filter((line) => line !== '')
      const head = lines.filter((line) => line.startsWith('#')).join('\n')
      if (head === '') continue
      const family = families.get(head)
      const values = lines.filter((line) => !line.startsWith('#'))
      if (family === undefined) families.set(head, values)
      else family.push(...values)
    }
  }
  return `${[...families].map(([head, values]) => [head, ...values].join('\n')).join('\n\n')}\n`
}
