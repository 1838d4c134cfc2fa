/**
 * The process that loads the vendor's library, forked by `child-process.ts`. Its main thread never calls the library,
 * so it always notices when the parent is gone, even while the library hangs.
 */
import { Worker } from 'node:worker_threads'
import { letLogin, newGate } from './login.js'
import type { ChildOptions, ChildReport } from './protocol.js'
import type { ThreadData, ThreadReport } from './session-thread.js'

/** The descriptors after standard input, output, error, and Node's own channel. */
const firstFd = 4
/** Milliseconds until a refused session is requested again. Each wait is twice as long as the one before. */
const askAgainMs = { first: 1000, last: 60_000 } as const

/** Ends all threads at once, including those inside the library; any other exit would wait for them. */
const end = (): void => {
  process.kill(process.pid, 'SIGKILL')
}

/** A parent that cannot be reached is gone, even if this shows before the channel closes. */
const send = (report: ChildReport): void => {
  process.send?.(report, (error) => {
    if (error !== null) end()
  })
}

interface ThreadEvents {
  readonly ready: () => void
  readonly denied: (reason: string) => void
  readonly ended: () => void
}

const startThread = (data: ThreadData, { ready, denied, ended }: ThreadEvents): void => {
  const thread = new Worker(new URL('./session-thread.js', import.meta.url), { workerData: data })
  thread.on('message', (report: ThreadReport) => {
    if (report.event === 'ready') ready()
    else if (report.event === 'denied') denied(report.reason)
    else send(report)
  })
  thread.on('error', (error: Error) =>
    send({ event: 'failed', failure: { kind: 'reset', message: `a thread of the child failed: ${error.message}` } }),
  )
  thread.on('exit', ended)
}

process.once('message', (options: ChildOptions) => {
  const gate = newGate()
  process.on('message', () => letLogin(gate))
  const sessions: number[] = []
  let shortage: string | undefined
  /** Sessions whose outcome is not known yet. */
  let open = options.sessions
  let running = 0

  const countOpened = (): void => {
    if (--open === 0) send({ event: 'ready', sessions, ...(shortage !== undefined && { shortage }) })
  }
  const start = (session: number, attempt = 0): void => {
    running++
    startThread(
      { options, fd: firstFd + session, gate, first: session === 0 },
      {
        ready: () => {
          if (attempt > 0) return send({ event: 'joined', session })
          sessions.push(session)
          countOpened()
          // The first session initialises the library and logs in for all.
          if (session === 0) for (let index = 1; index < options.sessions; index++) start(index)
        },
        denied: (reason) => {
          shortage ??= reason
          if (attempt === 0) countOpened()
          setTimeout(() => start(session, attempt + 1), Math.min(askAgainMs.last, askAgainMs.first * 2 ** attempt))
        },
        ended: () => {
          // Before the child is ready, the parent ends it.
          if (--running === 0 && open === 0) end()
        },
      },
    )
  }
  start(0)
})
process.once('disconnect', end)
// Signals to the process group are meant for the parent, which still signs while it drains and then disconnects.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
