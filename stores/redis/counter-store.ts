import type { CounterStore } from '../../core/api/storage.js'
import type { Connection } from './connection.js'
import { compositeKey } from './keys.js'
import { decodeRecord, encodeRecord, keepingTime, newToken } from './values.js'

/** Each failed round means that another caller's change was made. */
const maxRounds = 100

/**
 * The swap script writes and does not remove, so a value that is not a record stands for no state; it expires in a
 * millisecond.
 */
const tombstone = (): readonly [string, number] => [newToken(), 1]

const textOf = (answer: unknown): string => (typeof answer === 'string' ? answer : '')

/** Compares and swaps the whole value. A token in it makes each value unique. */
export const createCounterStore = (connection: Connection, name: string): CounterStore => ({
  update: async (namespace, id, decide) => {
    const key = compositeKey(name, namespace, id)
    let found = textOf(await connection.call('GET', key))
    for (let round = 0; round < maxRounds; round += 1) {
      const now = Math.floor(connection.clock())
      const current = decodeRecord(found, now)
      const { result, write } = decide(current?.record as Parameters<typeof decide>[0], now, current?.expires)
      if (write === undefined) return result
      const before = found
      const answer = await connection.run('swap', key, ({ epoch }) => {
        if (write === null) return [before, ...tombstone()]
        const expires = Math.max(1, Math.ceil(write.forgetAt))
        return [before, encodeRecord(write.state, expires, epoch), keepingTime((expires - now) / 1000)]
      })
      if (answer === 1) return result
      found = textOf(answer)
    }
    throw connection.refuse('too many change one count at once')
  },
})
