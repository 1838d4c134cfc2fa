import cluster, { type Worker } from 'node:cluster'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '../json.js'
import type { Log } from '../observe/log.js'
import { createProbeLead, type ProbeLead } from './probe-lead.js'

/**
 * Milliseconds before an exited worker is restarted. The wait doubles each time, and is reset when a worker has
 * lasted.
 */
const backoff = { first: 500, most: 30_000, lastedFor: 60_000 } as const

/** Milliseconds beyond its own grace after which a worker is killed. */
const killAfterMs = 3000

/**
 * The exit code of a worker that refuses its configuration and cannot recover by itself. The number is from
 * sysexits.h.
 */
export const refusedExitCode = 78

/** The message of a worker that serves. */
export interface WorkerStarted {
  readonly listening: { readonly public: string }
}

/** Processes that serve one port. */
export interface WorkerPool {
  /**
   * Starts the first alone, so that a fault of the deployment is reported once. Resolves when all serve; throws
   * `WorkerFailed` when one does not come up.
   */
  start(): Promise<WorkerStarted['listening']>
  /** The socket of each worker's admin listener, by number. */
  readonly sockets: ReadonlyMap<number, string>
  /** Workers that are running. */
  running(): readonly number[]
  /**
   * Workers that are not restarted because one refused the configuration: another attempt could be another wrong PIN,
   * and tokens count those (F21).
   */
  held(): readonly number[]
  /** Starts the held workers after all, one by one, until one refuses again. Never throws. */
  resume(): Promise<void>
  readonly restarts: number
  /** Makes each worker continue in the file that now has the path of the audit log. */
  reopenAudit(): void
  /** Stops each worker gracefully. Resolves when all have ended. */
  stop(graceMs: number): Promise<void>
  /** Kills all workers. */
  kill(): void
}

/** A worker could not start; it has logged why. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed'
}

const isStarted = (message: unknown): message is WorkerStarted =>
  typeof message === 'object' && message !== null && 'listening' in message

/** The processes of one pool, by their numbers from 1. */
interface Pool {
  readonly log: Log
  /** Where the sockets are. */
  readonly directory: string
  readonly numbers: readonly number[]
  readonly sockets: ReadonlyMap<number, string>
  readonly workers: Map<number, Worker>
  /** Those of workers that wait for their restart. */
  readonly timers: Map<number, NodeJS.Timeout>
  readonly probes: ProbeLead
  stopping: boolean
  /** A worker refused the configuration. */
  refused: boolean
  restarts: number
}

const isMissing = ({ workers, timers }: Pool, number: number): boolean => !workers.has(number) && !timers.has(number)

const fork = (pool: Pool, number: number, delayMs: number): Worker => {
  const { log, workers, timers } = pool
  const worker = cluster.fork({
    SIGNET_WORKER: String(number),
    SIGNET_WORKER_ADMIN: pool.sockets.get(number),
  })
  const startedAt = performance.now()
  workers.set(number, worker)
  const restart = (details: JsonObject, cause?: unknown): void => {
    workers.delete(number)
    pool.probes.ended(number)
    if (pool.stopping) return
    pool.refused ||= details['exit_code'] === refusedExitCode
    if (pool.refused) {
      log.error('A worker exited because the configuration was refused; none is restarted until a reload', {
        worker: number,
        ...details,
      })
      return
    }
    const lasted = performance.now() - startedAt > backoff.lastedFor
    const againInMs = lasted ? backoff.first : delayMs
    log.error('A worker exited', { worker: number, ...details, again_in_ms: againInMs }, cause)
    const again = (): void => {
      timers.delete(number)
      if (pool.refused) return
      pool.restarts++
      fork(pool, number, lasted ? backoff.first : Math.min(2 * delayMs, backoff.most))
    }
    timers.set(number, setTimeout(again, againInMs))
  }
  // The field is not named `code`, which in a log is the code of a grant.
  worker.once('exit', (exit_code, signal) => restart({ worker_pid: worker.process.pid, exit_code, signal }))
  worker.on('message', (message: unknown) => {
    if (isStarted(message)) pool.probes.started(number, worker)
  })
  worker.on('error', (error) => {
    // The process limit is reached: nothing was started, and no exit will follow.
    if (worker.process.pid === undefined) restart({}, error)
    else log.error('A message to a worker could not be sent', { worker: number, worker_pid: worker.process.pid }, error)
  })
  return worker
}

/** Resolves when it serves. */
const startOne = (pool: Pool, number: number): Promise<WorkerStarted> =>
  new Promise((resolve, reject) => {
    const worker = fork(pool, number, backoff.first)
    worker.on('message', (message: unknown) => {
      if (isStarted(message)) resolve(message)
    })
    const fail = (reason: unknown): void =>
      reject(new WorkerFailed(`Worker ${String(number)} did not start (${String(reason)}).`))
    worker.once('exit', fail)
    worker.once('error', fail)
  })

/** Stops if another one has refused meanwhile. */
const startHeld = async (pool: Pool, number: number): Promise<void> => {
  if (pool.stopping || pool.refused || !isMissing(pool, number)) return
  pool.restarts++
  // The reason is in the log.
  await startOne(pool, number).catch(() => undefined)
}

const kill = ({ workers }: Pool): void => {
  for (const worker of workers.values()) worker.process.kill('SIGKILL')
}

const start = async (pool: Pool): Promise<WorkerStarted['listening']> => {
  const [first = 1, ...others] = pool.numbers
  const { listening } = await startOne(pool, first)
  await Promise.all(others.map((number) => startOne(pool, number)))
  return listening
}

const stop = async (pool: Pool, graceMs: number): Promise<void> => {
  pool.stopping = true
  for (const timer of pool.timers.values()) clearTimeout(timer)
  const left = [...pool.workers.values()]
  const ended = left.map((worker) => new Promise((resolve) => worker.once('exit', resolve)))
  for (const worker of left) if (worker.isConnected()) worker.send('stop')
  const late = setTimeout(kill, graceMs + killAfterMs, pool)
  await Promise.all(ended)
  clearTimeout(late)
  await rm(pool.directory, { recursive: true, force: true })
}

/** `count` processes of this program, each restarted when it exits. None is started yet. */
export const createWorkerPool = async (count: number, log: Log): Promise<WorkerPool> => {
  // Only this user may call a worker.
  const directory = await mkdtemp(join(tmpdir(), 'signet-workers-'))
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  const sockets = new Map(numbers.map((number) => [number, join(directory, `${String(number)}.sock`)]))
  const workers = new Map<number, Worker>()
  const timers = new Map<number, NodeJS.Timeout>()
  const pool: Pool = {
    ...{ log, directory, numbers, sockets, workers, timers, probes: createProbeLead() },
    ...{ stopping: false, refused: false, restarts: 0 },
  }
  return {
    reopenAudit() {
      for (const worker of workers.values()) if (worker.isConnected()) worker.send('reopen_audit')
    },
    start: () => start(pool),
    sockets,
    running: () => [...workers.keys()],
    held: () => (pool.refused ? numbers.filter((number) => isMissing(pool, number)) : []),
    async resume() {
      pool.refused = false
      for (const number of numbers) await startHeld(pool, number)
    },
    get restarts() {
      return pool.restarts
    },
    stop: (graceMs) => stop(pool, graceMs),
    kill: () => kill(pool),
  }
}
