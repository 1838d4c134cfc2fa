/**
 * The process that loads the vendor's library, forked by `child-process.ts`. Its main thread makes no call into the
 * library, so that it always hears when the parent is gone, even while the library hangs.
 */
import { Worker } from 'node:worker_threads'
import { letLogin, newGate } from './login.js'
import type { ChildOptions, ChildReport } from './protocol.js'
import type { ThreadData, ThreadReport } from './session-thread.js'

/** After standard input, output, error, and Node's own channel. */
const firstFd = 4
/** Milliseconds until a session that the token did not grant is asked for again; each time twice as long. */
const askAgainMs = { first: 1000, last: 60_000 } as const

/** The end of all threads at once, also of those that are inside of the library: any other end waits for them. */
const end = (): void => {
  process.kill(process.pid, 'SIGKILL')
}

/** A parent that no message reaches is gone, also when that is seen here before the channel's own end. */
const tell = (report: ChildReport): void => {
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
    else tell(report)
  })
  thread.on('error', (error: Error) =>
    tell({ event: 'failed', failure: { kind: 'reset', message: `a thread of the child failed: ${error.message}` } }),
  )
  thread.on('exit', ended)
}

process.once('message', (options: ChildOptions) => {
  const gate = newGate()
  process.on('message', () => letLogin(gate))
  const sessions: number[] = []
  let shortage: string | undefined
  /** Sessions of which nothing is known yet. */
  let open = options.sessions
  let running = 0

  const settle = (): void => {
    if (--open === 0) tell({ event: 'ready', sessions, ...(shortage !== undefined && { shortage }) })
  }
  const start = (session: number, attempt = 0): void => {
    running++
    startThread(
      { options, fd: firstFd + session, gate, first: session === 0 },
      {
        ready: () => {
          if (attempt > 0) return tell({ event: 'joined', session })
          sessions.push(session)
          settle()
          // The first initialises the library and logs in for all.
          if (session === 0) for (let index = 1; index < options.sessions; index++) start(index)
        },
        denied: (reason) => {
          shortage ??= reason
          if (attempt === 0) settle()
          setTimeout(() => start(session, attempt + 1), Math.min(askAgainMs.last, askAgainMs.first * 2 ** attempt))
        },
        ended: () => {
          // Before it is ready, the parent ends it.
          if (--running === 0 && open === 0) end()
        },
      },
    )
  }
  start(0)
})
process.once('disconnect', end)
// Sent to the whole process group, they are meant for the parent, which still signs while it drains and then disconnects.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
