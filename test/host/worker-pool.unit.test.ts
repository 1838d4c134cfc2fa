import cluster, { type Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createWorkerPool, refusedExitCode, WorkerFailed, type WorkerPool } from '../../core/workers/worker-pool.js'
import type { JsonObject } from '../../core/json.js'

/** A process that does what the test says. */
class FakeWorker extends EventEmitter {
  readonly process: { readonly pid: number | undefined; readonly kill: () => void }
  constructor(pid: number | undefined) {
    super()
    this.process = { pid, kill: () => this.emit('exit', null, 'SIGKILL') }
  }
  isConnected = () => true
  readonly sent: unknown[] = []
  send = (message: unknown) => {
    this.sent.push(message)
    if (message === 'stop') this.emit('exit', 0, null)
  }
  serve = () => this.emit('message', { listening: { public: 'http://127.0.0.1:3000' } })
}

describe('a pool of workers', () => {
  let forked: FakeWorker[]
  let logged: { message: string; fields: JsonObject }[]
  let pool: WorkerPool
  /** Of what is forked next. */
  let nextPid: number | undefined
  const latest = (): FakeWorker => forked.at(-1)!

  beforeEach(async () => {
    vi.useFakeTimers()
    forked = []
    logged = []
    nextPid = 100
    vi.spyOn(cluster, 'fork').mockImplementation(() => {
      forked.push(new FakeWorker(nextPid))
      return latest() as unknown as Worker
    })
    const error = (message: string, fields: JsonObject = {}): void => void logged.push({ message, fields })
    pool = await createWorkerPool(2, { debug() {}, info() {}, warn() {}, error })
  })
  afterEach(async () => {
    await pool.stop(0)
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  const start = async (): Promise<void> => {
    const starting = pool.start()
    latest().serve()
    await vi.waitUntil(() => forked.length === 2)
    latest().serve()
    await starting
  }

  it('starts the others when the first one serves, and restarts each with growing delays', async () => {
    await start()
    for (const again_in_ms of [500, 1000, 2000]) {
      const before = forked.length
      latest().emit('exit', 7, null)
      expect(logged.at(-1)).toEqual({
        message: 'A worker exited',
        fields: { worker: 2, worker_pid: 100, exit_code: 7, signal: null, again_in_ms },
      })
      vi.advanceTimersByTime(again_in_ms - 1)
      expect(forked).toHaveLength(before)
      vi.advanceTimersByTime(1)
      expect(forked).toHaveLength(before + 1)
    }
    expect(pool.restarts).toBe(3)
    vi.advanceTimersByTime(61_000)
    latest().emit('exit', 7, null)
    expect(logged.at(-1)?.fields).toMatchObject({ again_in_ms: 500 })
  })

  it('keeps running when a process cannot be started, and tries again', async () => {
    await start()
    nextPid = undefined
    latest().emit('exit', 1, null)
    vi.advanceTimersByTime(500)
    latest().emit('error', new Error('spawn EAGAIN'))
    expect(pool.running()).toEqual([1])
    expect(logged.at(-1)?.fields).toEqual({ worker: 2, again_in_ms: 1000 })
    nextPid = 200
    vi.advanceTimersByTime(1000)
    expect(pool.running()).toEqual([1, 2])
    latest().emit('error', new Error('write EPIPE'))
    expect(pool.running()).toEqual([1, 2])
  })

  it('restarts none that refused the configuration, but tries one after the other on request', async () => {
    await start()
    const [first, second] = forked
    first?.emit('exit', 7, null)
    second?.emit('exit', refusedExitCode, null)
    expect(logged.at(-1)?.fields).toEqual({ worker: 2, worker_pid: 100, exit_code: refusedExitCode, signal: null })
    vi.advanceTimersByTime(3_600_000)
    expect(forked).toHaveLength(2)
    expect(pool.held()).toEqual([1, 2])

    const refused = pool.resume()
    expect(forked).toHaveLength(3)
    latest().emit('exit', refusedExitCode, null)
    await refused
    vi.advanceTimersByTime(3_600_000)
    expect(forked).toHaveLength(3)
    expect(pool.held()).toEqual([1, 2])

    const resumed = pool.resume()
    latest().serve()
    await vi.waitUntil(() => forked.length === 5)
    latest().serve()
    await resumed
    expect(pool.running()).toEqual([1, 2])
    expect(pool.held()).toEqual([])
    latest().emit('exit', 7, null)
    vi.advanceTimersByTime(500)
    expect(pool.running()).toEqual([1, 2])
  })

  it('has its sockets in the temporary directory of the system, and removes them', async () => {
    const temporary = await mkdtemp(join(tmpdir(), 'signet-pool-'))
    onTestFinished(() => rm(temporary, { recursive: true }))
    vi.stubEnv('TMPDIR', temporary)
    onTestFinished(() => void vi.unstubAllEnvs())
    const other = await createWorkerPool(1, { debug() {}, info() {}, warn() {}, error() {} })
    const [folder = ''] = await readdir(temporary)
    expect([...other.sockets.values()]).toEqual([join(temporary, folder, '1.sock')])
    await other.stop(0)
    expect(await readdir(temporary)).toEqual([])
  })

  it('fails when one does not come up at first', async () => {
    const starting = pool.start()
    latest().emit('exit', 1, null)
    await expect(starting).rejects.toBeInstanceOf(WorkerFailed)
  })
})
