/** The thread in which a service searches its audit log, so that no request waits for it. */
import { parentPort } from 'node:worker_threads'
import { extendIndexes } from './extend-indexes.js'
import { searchLog, type AuditPage, type AuditSearch } from './search.js'
import { verifyRange, type AuditRange, type AuditRangeVerification } from './verify-range.js'

export type ThreadQuestion =
  { readonly id: number; readonly search: AuditSearch } | { readonly id: number; readonly verify: AuditRange }

export type ThreadAnswer = { readonly id: number } & (
  { readonly result: AuditPage | AuditRangeVerification } | { readonly failure: string }
)

/** The log whose index is being extended, so that it is not extended twice at a time. */
let extending: Generator<void> | undefined

const step = (): void => {
  try {
    if (extending?.next().done === false) return void setImmediate(step)
  } catch {
    // The folder cannot be written, for example. Searches do without the index.
  }
  extending = undefined
}

const answer = async (question: ThreadQuestion): Promise<AuditPage | AuditRangeVerification> => {
  if ('verify' in question) return verifyRange(question.verify)
  const { search } = question
  const page = searchLog(search)
  if (page.indexBehind && extending === undefined) {
    extending = extendIndexes(search.path)
    setImmediate(step)
  }
  return page
}

parentPort?.on('message', (question: ThreadQuestion) => {
  const { id } = question
  answer(question).then(
    (result) => parentPort?.postMessage({ id, result } satisfies ThreadAnswer),
    (error: Error) => parentPort?.postMessage({ id, failure: error.message } satisfies ThreadAnswer),
  )
})
