import type { Condition, StoredDocument } from './document.js'
import { isPassing } from './failure.js'
import type { Gateway } from './gateway.js'

/** The first batch of an answer holds 101 documents (command `find`, `batchSize`). */
const maxConcurrent = 100

interface Wanted<D> {
  readonly id: string
  readonly found: (document: D | undefined) => void
  readonly failed: (reason: unknown) => void
}

/**
 * Reads documents by `_id`. Reads of one turn of the event loop are combined into one query, so a busy process
 * queries less often. It uses a command, because the driver's `find` creates a cursor that costs as much as the
 * query.
 */
export const createReader = <D extends StoredDocument>(
  { db, call, now }: Gateway,
  name: string,
  isLive: (now: number) => Condition,
) => {
  let waiting: Wanted<D>[] = []

  const ask = async (ids: readonly string[]): Promise<readonly D[]> => {
    const filter = { _id: { $in: ids }, ...isLive(now()) }
    const { cursor } = await db.command({ find: name, filter, limit: ids.length, singleBatch: true })
    return (cursor as { readonly firstBatch: readonly D[] }).firstBatch
  }

  // The driver repeats its own reads, but not commands.
  const askTwice = (ids: readonly string[]) =>
    ask(ids).catch((error: unknown) => (isPassing(error) ? ask(ids) : Promise.reject(error as Error)))

  const answer = async (wanted: readonly Wanted<D>[]): Promise<void> => {
    const ids = [...new Set(wanted.map(({ id }) => id))]
    try {
      const documents = await call('read', () => askTwice(ids))
      const byId = new Map(documents.map((document) => [document._id, document]))
      for (const { id, found } of wanted) found(byId.get(id))
    } catch (error) {
      for (const { failed } of wanted) failed(error)
    }
  }

  const turn = (): void => {
    const all = waiting
    waiting = []
    for (let start = 0; start < all.length; start += maxConcurrent) void answer(all.slice(start, start + maxConcurrent))
  }

  return (id: string): Promise<D | undefined> =>
    new Promise((found, failed) => {
      if (waiting.push({ id, found, failed }) === 1) setImmediate(turn)
    })
}
