import type { RevocationStore } from '../../core/api/storage.js'
import type { Decision } from './committer.js'
import { envelope, type Envelope } from './envelope.js'
import { newRecordKey, recordKey } from './key.js'
import type { Table } from './table.js'

/**
 * Milliseconds. Revocations are few, and without the record a revoked item would live again by a clock that was set
 * back (F23).
 */
const spared = 86_400_000

/** `true`: all of it is revoked. A number: everything that began before it, in milliseconds since the epoch. */
type Revocation = true | number

const later = (left: Revocation | undefined, right: Revocation): Revocation =>
  left === true || right === true ? true : Math.max(left ?? -Infinity, right)

export const createRevocationStore = (table: Table, name: string): RevocationStore => {
  type Find = (id: string) => Revocation | undefined

  /** Reads from one snapshot. */
  const view = <R>(read: (find: Find) => R): R =>
    table.view((find) =>
      read((id) => {
        const key = recordKey(name, id)
        return key && (find(key)?.record as Revocation | undefined)
      }),
    )

  /** A second revocation never shortens it and never moves its time back. */
  const write = async (id: string, revocation: Revocation, ttlSeconds: number): Promise<void> => {
    const decide = (current: Envelope | undefined, now: number): Decision<undefined> => {
      const before = current?.record as Revocation | undefined
      const record = later(before, revocation)
      const expires = Math.max(current?.expires ?? 0, now + ttlSeconds * 1000)
      const stays = record === before && expires === current?.expires
      return { result: undefined, ...(stays ? {} : { write: { ...envelope(record, expires), spared } }) }
    }
    await table.update(newRecordKey(name, id), decide, 'essential')
  }

  return {
    revoke: (id, ttlSeconds) => write(id, true, ttlSeconds),
    revokeBefore: (id, before, ttlSeconds) => write(id, before, ttlSeconds),
    isRevoked: async (ids, began) =>
      view((find) => {
        if (ids.some((id) => find(id) !== undefined)) return true
        const ended = began && find(began.id)
        return ended === true || (ended !== undefined && began !== undefined && began.at < ended)
      }),
    endedBefore: async (id) => {
      const ended = view((find) => find(id))
      return ended === true ? undefined : ended
    },
  }
}
