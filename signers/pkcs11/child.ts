/**
 * The process that loads the vendor's library, forked by `child-process.ts`. Its main thread makes no call into the
 * library, so that it always hears when the parent is gone, even while the library hangs.
 */
import { Worker } from 'node:worker_threads'
import { letLogin, newGate } from './login.js'
import type { ChildOptions, ChildReport } from './protocol.js'
import type { ThreadData } from './session-thread.js'

/** After standard input, output, error, and Node's own channel. */
const firstFd = 4

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

const startThread = (data: ThreadData, whenReady: () => void, whenEnded: () => void): void => {
  const thread = new Worker(new URL('./session-thread.js', import.meta.url), { workerData: data })
  thread.on('message', (report: ChildReport) => {
    if (report.event === 'ready') whenReady()
    else tell(report)
  })
  thread.on('error', (error: Error) =>
    tell({ event: 'failed', failure: { kind: 'reset', message: `a thread of the child failed: ${error.message}` } }),
  )
  thread.on('exit', whenEnded)
}

process.once('message', (options: ChildOptions) => {
  const gate = newGate()
  process.on('message', () => letLogin(gate))
  let ready = 0
  let ended = 0
  const start = (index: number, whenReady: () => void): void =>
    startThread({ options, fd: firstFd + index, gate, first: index === 0 }, whenReady, () => {
      if (++ended === options.sessions) end()
    })
  const oneReady = (): void => {
    if (++ready === options.sessions) tell({ event: 'ready' })
  }
  // The first initialises the library and logs in for all.
  start(0, () => {
    oneReady()
    for (let index = 1; index < options.sessions; index++) start(index, oneReady)
  })
})
process.once('disconnect', end)
// Sent to the whole process group, they are meant for the parent, which still signs while it drains and then disconnects.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
