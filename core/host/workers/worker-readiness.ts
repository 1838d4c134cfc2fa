import type { ComponentHealth, ReadinessReport } from '../../observe/health.js'
import { askWorker } from './ask-worker.js'
import type { WorkerPool } from './worker-pool.js'

/** Milliseconds between two questions, and for an answer. */
const intervalMs = 500
const deadlineMs = 2000

export interface WorkerReadiness extends Disposable {
  report(): ReadinessReport
  /** Not ready from now on. */
  drain(): void
}

interface Found {
  readonly ready: boolean
  readonly components: Readonly<Record<string, ComponentHealth>>
}

const unanswered = (message: string): Found => ({ ready: false, components: { process: { status: 'down', message } } })

/** Ready while any worker is: whoever comes is served by one of those that listen. Asked in the background. */
export const createWorkerReadiness = (pool: Pick<WorkerPool, 'sockets'>): WorkerReadiness => {
  const found = new Map<number, Found>()
  const state = { draining: false, closed: false }
  const timers = new Set<NodeJS.Timeout>()

  const ask = async (number: number, socket: string): Promise<void> => {
    try {
      const { body } = await askWorker(socket, '/health/ready', AbortSignal.timeout(deadlineMs))
      const { status, components } = JSON.parse(body) as { status: string; components: Found['components'] }
      found.set(number, { ready: status === 'ready', components })
    } catch {
      found.set(number, unanswered('does not answer'))
    }
    if (state.closed) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      void ask(number, socket)
    }, intervalMs)
    timers.add(timer)
  }
  for (const [number, socket] of pool.sockets) {
    found.set(number, unanswered('starting'))
    void ask(number, socket)
  }

  return {
    report: () => {
      const told = [...found].flatMap(([number, { components }]): [string, ComponentHealth][] =>
        Object.entries(components).map(([name, health]) => [`worker.${String(number)}.${name}`, health] as const),
      )
      const draining: [string, ComponentHealth][] = state.draining ? [['process', { status: 'draining' }]] : []
      const ready = !state.draining && [...found.values()].some((worker) => worker.ready)
      return { ready, components: Object.fromEntries([...draining, ...told]) }
    },
    drain: () => {
      state.draining = true
    },
    [Symbol.dispose]: () => {
      state.closed = true
      for (const timer of timers) clearTimeout(timer)
    },
  }
}
