import { Unavailable, type Clock } from '../../core/api/storage.js'
import { writeInBulk, type Replacement } from './bulk-write.js'
import type { Decision } from './committer.js'
import type { Environment } from './environment.js'
import { decodeEnvelope, isLive, type Envelope } from './envelope.js'
import { orUnavailable } from './failure.js'
import { readEntry, refresh } from './tables.js'

export interface Row {
  readonly key: Buffer
  readonly record: unknown
}

/** The base of all collections. Every method throws `Unavailable` when the store fails or was closed. */
export interface Table {
  /** The store's clock, in milliseconds since the epoch. */
  now(): number
  find(key: Buffer): Envelope | undefined
  /** Several reads from one snapshot. `read` gets a cheap version of `find`, and must do nothing else. */
  view<R>(read: (find: (key: Buffer) => Envelope | undefined) => R): R
  /** At most `limit` unexpired records in the order of keys. */
  list(start: Buffer, end: Buffer, limit: number): readonly Row[]
  /** Reads, decides and writes in one atomic step across processes. On disk when it resolves. */
  update<R>(
    key: Buffer,
    decide: (current: Envelope | undefined, now: number) => Decision<R>,
    /** Accepted even when the store is full, for writes that are unsafe to refuse, such as revocations. */
    essential?: 'essential',
  ): Promise<R>
  /** Writes records whatever is there, in as few transactions as possible. All are on disk when it resolves. */
  replaceAll(rows: readonly Replacement[]): Promise<void>
}

export interface OpenTable extends Table {
  /** Refuses new calls and waits for those in progress. */
  close(): Promise<void>
}

const listLive = ({ records }: Environment, start: Buffer, end: Buffer, limit: number, now: number): Row[] => {
  const rows: Row[] = []
  for (const { key, value } of records.getRange({ start, end })) {
    if (rows.length >= limit) break
    const envelope = decodeEnvelope(value)
    if (isLive(envelope, now)) rows.push({ key, record: envelope.record })
  }
  return rows
}

const findLive = (environment: Environment, key: Buffer, now: number): Envelope | undefined => {
  const entry = readEntry(environment, key)
  return entry !== undefined && isLive(entry.envelope, now) ? entry.envelope : undefined
}

export const createTable = (environment: Environment, clock: Clock, component: string): OpenTable => {
  const inFlight = new Set<Promise<unknown>>()
  let closed = false

  const checkOpen = () => {
    if (closed) throw new Unavailable(component, 'no', 'the store is closed')
  }

  const reading = <R>(read: () => R): R => {
    checkOpen()
    return orUnavailable(component, read)
  }

  const writing = async <R>(write: () => Promise<R>): Promise<R> => {
    checkOpen()
    const change = write()
    inFlight.add(change)
    try {
      return await change
    } finally {
      inFlight.delete(change)
    }
  }

  return {
    now: clock,
    find: (key) =>
      reading(() => {
        refresh(environment)
        return findLive(environment, key, clock())
      }),
    view: (read) =>
      reading(() => {
        refresh(environment)
        const now = clock()
        return read((key) => findLive(environment, key, now))
      }),
    list: (start, end, limit) =>
      reading(() => {
        refresh(environment)
        return listLive(environment, start, end, limit, clock())
      }),
    update: (key, decide, essential) =>
      writing(() =>
        environment.committer.submit({ key, clock, component, decide, essential: essential !== undefined }),
      ),
    replaceAll: (rows) => writing(() => writeInBulk(environment, component, rows)),
    close: async () => {
      closed = true
      await Promise.allSettled(inFlight)
    },
  }
}
