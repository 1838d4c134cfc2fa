import type { ComponentHealth, ReadinessReport } from '../observe/health.js'
import { askWorker } from './ask-worker.js'
import type { WorkerPool } from './worker-pool.js'

/** Milliseconds between two checks, and for an answer. */
const intervalMs = 500
const deadlineMs = 2000

export interface WorkerReadiness extends Disposable {
  report(): ReadinessReport
  /** How the workers differ from each other since the last reload, or undefined if they do not. */
  differ(difference: string | undefined): void
  /** Reports not ready from now on. */
  drain(): void
}

interface WorkerReport {
  readonly ready: boolean
  readonly components: Readonly<Record<string, ComponentHealth>>
}

const unanswered = (message: string): WorkerReport => ({
  ready: false,
  components: { process: { status: 'down', message } },
})

/**
 * Ready while any worker is, because callers reach only those that listen. The component `workers` is up only while
 * all are ready and have the same configuration. Checked in the background.
 */
export const createWorkerReadiness = (pool: Pick<WorkerPool, 'sockets' | 'held'>): WorkerReadiness => {
  const found = new Map<number, WorkerReport>()
  const state = { draining: false, closed: false, difference: undefined as string | undefined }
  const timers = new Set<NodeJS.Timeout>()

  const ask = async (number: number, socket: string): Promise<void> => {
    try {
      const { body } = await askWorker(socket, { path: '/health/ready' }, AbortSignal.timeout(deadlineMs))
      const { status, components } = JSON.parse(body) as { status: string; components: WorkerReport['components'] }
      found.set(number, { ready: status === 'ready', components })
    } catch {
      const isHeld = pool.held().includes(number)
      found.set(
        number,
        unanswered(isHeld ? 'the configuration was refused: restarted after a reload' : 'does not answer'),
      )
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

  const all = (): ComponentHealth => {
    const ready = [...found.values()].filter((worker) => worker.ready).length
    const few = ready < found.size ? [`${ready} of ${found.size} are ready`] : []
    const wrong = [...few, ...(state.difference === undefined ? [] : [state.difference])]
    return wrong.length === 0 ? { status: 'up' } : { status: 'down', message: wrong.join('; ') }
  }

  return {
    report: () => {
      const reported = [...found].flatMap(([number, { components }]): [string, ComponentHealth][] =>
        Object.entries(components).map(([name, health]) => [`worker.${String(number)}.${name}`, health] as const),
      )
      const draining: [string, ComponentHealth][] = state.draining ? [['process', { status: 'draining' }]] : []
      const ready = !state.draining && [...found.values()].some((worker) => worker.ready)
      return { ready, components: Object.fromEntries([...draining, ['workers', all()], ...reported]) }
    },
    differ: (difference) => {
      state.difference = difference
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
