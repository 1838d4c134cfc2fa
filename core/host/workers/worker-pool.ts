import cluster, { type Worker } from 'node:cluster'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '../../json.js'
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
export interface WorkerPool {
  /**
   * The first one alone at first: what is wrong with the deployment is told once. Resolves when all serve; throws
   * `WorkerFailed` when one does not come up.
   */
  start(): Promise<WorkerStarted['listening']>
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

/** `count` processes of this program, each of which is started anew when it ends. None runs yet. */
export const createWorkerPool = async (count: number, log: Log): Promise<WorkerPool> => {
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
    const startAnew = (told: JsonObject, cause?: unknown): void => {
      workers.delete(number)
      if (state.stopping) return
      const lasted = performance.now() - startedAt > backoff.lastedFor
      const againInMs = lasted ? backoff.first : delayMs
      log.error('A worker ended', { worker: number, ...told, again_in_ms: againInMs }, cause)
      const timer = setTimeout(() => {
        timers.delete(timer)
        state.restarts++
        fork(number, lasted ? backoff.first : Math.min(2 * delayMs, backoff.most))
      }, againInMs)
      timers.add(timer)
    }
    // Not `code`, which in a log is that of a grant.
    worker.once('exit', (exit_code, signal) => startAnew({ pid: worker.process.pid, exit_code, signal }))
    worker.on('error', (error) => {
      // There are too many processes: nothing was started, and nothing will exit.
      if (worker.process.pid === undefined) startAnew({}, error)
      else log.error('A worker cannot be told anything', { worker: number, pid: worker.process.pid }, error)
    })
    return worker
  }

  /** Resolves when it serves. */
  const startOne = (number: number): Promise<WorkerStarted> =>
    new Promise((resolve, reject) => {
      const worker = fork(number, backoff.first)
      worker.on('message', (message: unknown) => {
        if (isStarted(message)) resolve(message)
      })
      const fail = (told: unknown): void =>
        reject(new WorkerFailed(`Worker ${String(number)} did not start (${String(told)}).`))
      worker.once('exit', fail)
      worker.once('error', fail)
    })

  const kill = (): void => {
    for (const worker of workers.values()) worker.process.kill('SIGKILL')
  }

  return {
    async start() {
      const [first = 1, ...others] = numbers
      const { listening } = await startOne(first)
      await Promise.all(others.map(startOne))
      return listening
    },
    sockets,
    running: () => [...workers.keys()],
    get restarts() {
      return state.restarts
    },
    async stop(graceMs) {
      state.stopping = true
      for (const timer of timers) clearTimeout(timer)
      const left = [...workers.values()]
      const ended = left.map((worker) => new Promise((resolve) => worker.once('exit', resolve)))
      for (const worker of left) if (worker.isConnected()) worker.send('stop')
      const late = setTimeout(kill, graceMs + killAfterMs)
      await Promise.all(ended)
      clearTimeout(late)
      await rm(directory, { recursive: true, force: true })
    },
    kill,
  }
}
