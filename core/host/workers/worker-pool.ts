import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Log } from '../../observe/log.js'

/** Milliseconds before a worker that ended is started anew: doubled each time, and forgotten when one has lasted. */
const backoff = { first: 500, most: 30_000, lastedFor: 60_000 } as const

/** Milliseconds beyond its own grace after which a worker is killed. */
const killAfterMs = 3000

/** What a worker says when it serves. */
export interface WorkerStarted {
  readonly listening: { readonly public: string }
}

/** Processes that serve the same port. */
export interface WorkerPool extends AsyncDisposable {
  readonly listening: WorkerStarted['listening']
  /** The socket of each one's admin listener, by number. */
  readonly sockets: ReadonlyMap<number, string>
  /** Those that run now. */
  running(): readonly number[]
  readonly restarts: number
  /** Has each one stop in order. Resolves when all have ended. */
  stop(graceMs: number): Promise<void>
  /** At once. */
  kill(): void
}

/** A worker could not start; it has told why. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed'
}

const isStarted = (message: unknown): message is WorkerStarted =>
  typeof message === 'object' && message !== null && 'listening' in message

/**
 * Starts `count` processes of this program, and each one that ends again. The first one alone at first: what is wrong
 * with the deployment is told once. Throws `WorkerFailed` when one does not come up then.
 */
export const startWorkerPool = async (count: number, log: Log): Promise<WorkerPool> => {
  // Nobody but this user may ask a worker.
  const directory = await mkdtemp(join(tmpdir(), 'signet-workers-'))
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  const sockets = new Map(numbers.map((number) => [number, join(directory, `${String(number)}.sock`)]))
  const workers = new Map<number, Worker>()
  const timers = new Set<NodeJS.Timeout>()
  const state = { stopping: false, restarts: 0 }

  const fork = (number: number, delayMs: number): Worker => {
    const worker = cluster.fork({
      SIGNET_WORKER: String(number),
      SIGNET_WORKER_ADMIN: sockets.get(number),
    })
    const startedAt = performance.now()
    workers.set(number, worker)
    worker.once('exit', (code, signal) => {
      workers.delete(number)
      if (state.stopping) return
      log.error('A worker ended', { worker: number, pid: worker.process.pid, code, signal, again_in_ms: delayMs })
      const lasted = performance.now() - startedAt > backoff.lastedFor
      const timer = setTimeout(
        () => {
          timers.delete(timer)
          state.restarts++
          fork(number, lasted ? backoff.first : Math.min(2 * delayMs, backoff.most))
        },
        lasted ? backoff.first : delayMs,
      )
      timers.add(timer)
    })
    return worker
  }

  /** Resolves when it serves. */
  const start = (number: number): Promise<WorkerStarted> =>
    new Promise((resolve, reject) => {
      const worker = fork(number, backoff.first)
      worker.on('message', (message: unknown) => {
        if (isStarted(message)) resolve(message)
      })
      worker.once('exit', (code) => {
        reject(new WorkerFailed(`Worker ${String(number)} did not start (${String(code)}).`))
      })
    })

  const stop = async (graceMs: number): Promise<void> => {
    state.stopping = true
    for (const timer of timers) clearTimeout(timer)
    const left = [...workers.values()]
    const ended = left.map((worker) => once(worker, 'exit'))
    for (const worker of left) if (worker.isConnected()) worker.send('stop')
    const late = setTimeout(kill, graceMs + killAfterMs)
    await Promise.all(ended)
    clearTimeout(late)
    await rm(directory, { recursive: true, force: true })
  }

  const kill = (): void => {
    for (const worker of workers.values()) worker.process.kill('SIGKILL')
  }

  try {
    const [first = 1, ...others] = numbers
    const { listening } = await start(first)
    await Promise.all(others.map(start))
    return {
      listening,
      sockets,
      running: () => [...workers.keys()],
      get restarts() {
        return state.restarts
      },
      stop,
      kill,
      [Symbol.asyncDispose]: () => stop(0),
    }
  } catch (error) {
    await stop(0)
    throw error
  }
}
