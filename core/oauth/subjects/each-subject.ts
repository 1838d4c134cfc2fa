import { setTimeout } from 'node:timers/promises'
import type { RecordStore } from '../../storage/ports.js'
import { Unavailable } from '../../unavailable.js'

const pageSize = 100
/** Pieces of work that run at the same time; there are fewer while the store does not keep up. */
const maxConcurrency = 64
/** Milliseconds to wait after each consecutive round with an outage. After the last one the outage is reported. */
const pausesMs = [250, 500, 1000, 2000, 4000] as const

interface Concurrency {
  current: number
}

/** Runs `work` for each of `all`, a few at a time: once, and again after an outage. */
const runWithRetries = async <T>(
  all: readonly T[],
  work: (one: T) => Promise<void>,
  concurrency: Concurrency,
): Promise<void> => {
  const waiting = new Set(all)
  let outages = 0
  while (waiting.size > 0) {
    const errors: unknown[] = []
    const round = [...waiting].slice(0, concurrency.current).map((one) =>
      work(one).then(
        () => waiting.delete(one),
        (error: unknown) => void errors.push(error),
      ),
    )
    await Promise.all(round)
    if (errors.length === 0) {
      concurrency.current = Math.min(maxConcurrency, concurrency.current * 2)
      continue
    }
    for (const error of errors) if (!(error instanceof Unavailable)) throw error
    outages = errors.length < round.length ? 0 : outages + 1
    const pause = pausesMs[outages]
    if (pause === undefined) throw errors[0]
    concurrency.current = Math.max(1, Math.floor(concurrency.current / 4))
    await setTimeout(pause)
  }
}

/**
 * Runs `work` for each subject that has records in this collection, a few at a time and in bounded memory: once, and
 * again after an outage. Throws `Unavailable` when an outage does not pass, and what `work` throws; then no further
 * work starts.
 */
export const forEachSubject = async (
  store: RecordStore<{ readonly subject: string }>,
  work: (subject: string) => Promise<void>,
): Promise<void> => {
  const concurrency: Concurrency = { current: maxConcurrency }
  let page: Awaited<ReturnType<typeof store.list>> = []
  let last: string | undefined
  for (let after: string | undefined; ;) {
    const read = async (from: string | undefined): Promise<void> => void (page = await store.list(from, pageSize))
    await runWithRetries([after], read, concurrency)
    const end = page.at(-1)
    if (end === undefined) return
    const subjects = new Set(page.map(({ record }) => record.subject))
    // The records of this subject continue on this page.
    if (last !== undefined) subjects.delete(last)
    await runWithRetries([...subjects], work, concurrency)
    after = end.id
    last = end.record.subject
  }
}
