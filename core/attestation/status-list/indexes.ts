import { epochSeconds, type Clock } from '../../clock.js'
import type { RecordStore } from '../../storage/ports.js'
import { createIndexOrder, indexCount } from './index-order.js'
import { endOf, type ListIds } from './list-ids.js'

/** The place of a token's status (Token Status List §6.2). */
export interface StatusIndex {
  readonly list: string
  readonly idx: number
}

/** The list that indexes are assigned from, and how many are assigned. */
export interface ListInUse {
  readonly list: string
  readonly given: number
}

export interface StatusIndexesOptions {
  readonly lists: RecordStore<ListInUse>
  readonly ids: ListIds
  readonly clock: Clock
  /** Seconds until a token that is issued now has expired for everybody. */
  readonly tokenSeconds: number
}

/** Indexes that a process reserves in the store at a time. Unused ones are lost when it stops. */
export const blockSize = 256
/** Seconds for which indexes of one list are assigned, unless it is full earlier. */
const listSeconds = 86_400
/** The only id in the collection. */
const inUse = 'in_use'

interface Block extends ListInUse {
  readonly end: number
  readonly order: (position: number) => number
}

/**
 * Assigns unpredictable indexes, each once in the life of its list, over all processes. A list ends when its last
 * token has expired, and is never used again. Throws `Unavailable`.
 */
export const createStatusIndexes = (options: StatusIndexesOptions): (() => Promise<StatusIndex>) => {
  const { lists, ids, clock, tokenSeconds } = options
  let block: Block | undefined
  let claiming: Promise<void> | undefined

  const outlives = (list: string): boolean => endOf(list) >= epochSeconds(clock) + tokenSeconds

  const claim = async (): Promise<void> => {
    const fresh = await ids.make(epochSeconds(clock) + listSeconds + tokenSeconds)
    const { list, given } = await lists.update(inUse, (current) => {
      const hasIndexes = current !== undefined && current.given + blockSize <= indexCount && outlives(current.list)
      const from = hasIndexes ? current : { list: fresh, given: 0 }
      return { result: from, write: { record: { list: from.list, given: from.given + blockSize } } }
    })
    const order = block?.list === list ? block.order : createIndexOrder(await ids.seed(list))
    block = { list, given, end: given + blockSize, order }
  }

  const take = (): StatusIndex | undefined => {
    if (block === undefined || block.given === block.end || !outlives(block.list)) return undefined
    const { list, given, order } = block
    block = { ...block, given: given + 1 }
    return { list, idx: order(given) }
  }

  return async () => {
    for (;;) {
      const taken = take()
      if (taken !== undefined) return taken
      await (claiming ??= claim().finally(() => {
        claiming = undefined
      }))
    }
  }
}
