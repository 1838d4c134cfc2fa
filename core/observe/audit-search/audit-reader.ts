import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { within } from '../../deadline.js'
import { packageRoot } from '../../package-root.js'
import { Unavailable } from '../../unavailable.js'
import type { AuditPage, AuditSearch } from './search.js'
import type { ThreadAnswer, ThreadQuestion } from './thread.js'
import type { AuditRange, AuditRangeVerification } from './verify-range.js'

/** Reads the audit log of a service. Throws `Unavailable` when the log cannot be read now. */
export interface AuditReader {
  search(search: Omit<AuditSearch, 'path'>): Promise<AuditPage>
  verify(range: Omit<AuditRange, 'path'>): Promise<AuditRangeVerification>
}

interface Waiting {
  readonly resolve: (result: never) => void
  readonly reject: (error: Error) => void
}

/** Questions that may wait for the thread, which answers one after the other. */
const maxWaiting = 8
/** Milliseconds. The process above workers waits for an answer for hardly longer. */
const deadlineMs = 2800

const unreadable = (message: string): Unavailable => new Unavailable('audit', 'no', message)

/** Reads the log at `path` in a thread of its own, which starts with the first question. */
export const createAuditReader = (path: string): AuditReader & AsyncDisposable => {
  const waiting = new Map<number, Waiting>()
  let thread: Worker | undefined
  let count = 0

  const giveUp = (): void => {
    thread = undefined
    for (const { reject } of waiting.values()) reject(unreadable('the audit log cannot be read'))
    waiting.clear()
  }

  const start = (): Worker => {
    const started = new Worker(join(packageRoot, 'dist', 'core', 'observe', 'audit-search', 'thread.js'))
    started.on('message', (answer: ThreadAnswer) => {
      const { id } = answer
      const asked = waiting.get(id)
      waiting.delete(id)
      if (waiting.size === 0) started.unref()
      if ('result' in answer) asked?.resolve(answer.result as never)
      else asked?.reject(unreadable('the audit log cannot be read'))
    })
    started.on('error', giveUp)
    started.on('exit', giveUp)
    return started
  }

  const ask = <Result>(question: Omit<ThreadQuestion, 'id'>): Promise<Result> => {
    if (waiting.size >= maxWaiting) return Promise.reject(unreadable('too many searches wait'))
    const asked = (thread ??= start())
    const id = count++
    const answered = new Promise<Result>((resolve, reject) => waiting.set(id, { resolve, reject }))
    asked.ref()
    asked.postMessage({ id, ...question })
    return within(deadlineMs, answered, () => unreadable('the audit log cannot be read in time'))
  }

  return {
    search: (search) => ask({ search: { path, ...search } }),
    verify: (range) => ask({ verify: { path, ...range } }),
    async [Symbol.asyncDispose]() {
      const ending = thread
      giveUp()
      await ending?.terminate()
    },
  }
}
