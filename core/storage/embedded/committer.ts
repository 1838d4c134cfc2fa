import type { Clock } from '../../clock.js'
import { Unavailable } from '../../unavailable.js'
import { bytesToChange, type DiskRoom } from './disk-room.js'
import { encodeEnvelope, isLive, type Envelope } from './envelope.js'
import { commitFailure, orUnavailable, unavailable } from './failure.js'
import { expiryKey } from './key.js'
import { readEntry, refresh, type Entry, type Tables } from './tables.js'

export interface Decision<R> {
  readonly result: R
  /** What replaces the record; null removes it; absent: nothing changes. */
  readonly write?: Envelope | null
}

export interface Change<R> {
  readonly key: Buffer
  readonly clock: Clock
  /** Who asks, for `Unavailable`. */
  readonly component: string
  /** Admitted even when the store is full. */
  readonly essential?: boolean
  /** Given the record if it has not expired. Pure: it is asked again when another writer was faster. */
  decide(current: Envelope | undefined, now: number): Decision<R>
}

export interface Committer {
  /** Resolves when the change is on the disk. Of changes to one record, in all processes, each sees the one before. */
  submit<R>(change: Change<R>): Promise<R>
}

interface Pending {
  readonly change: Change<unknown>
  readonly since: number
  settled: boolean
  /** True from when LMDB has it: it may happen although nobody waits any more. */
  issued: boolean
  resolve(result: unknown): void
  reject(error: unknown): void
}

interface Write {
  readonly pending: Pending
  readonly entry: Entry | undefined
  readonly result: unknown
  readonly replacement: Envelope | null
  /** The replacement in writing; empty for a removal. */
  readonly text: string
}

type Batch = Promise<boolean> & { readonly flushed?: Promise<unknown> }

const deadlineMs = 5_000
const maxBatch = 256
/** Each takes one thread of libuv's pool while it writes and syncs: password hashing and signing need the others. */
const maxUnderway = 2

const anchor = Buffer.from([1])

/**
 * Group commit by compare-and-set. All changes that wait are decided on the newest state and written as one LMDB
 * transaction in a thread, each on the condition that its record still has the version it was decided on. LMDB's
 * write lock is never held while JavaScript runs, so a busy event loop stops no other process.
 */
export const createCommitter = (tables: Tables, isFull: () => boolean, disk: DiskRoom): Committer => {
  const { records, expiry } = tables
  const queue: Pending[] = []
  const waiting = new Set<Pending>()
  let underway = 0
  let scheduled = false
  let watchdog: NodeJS.Timeout | undefined

  const schedule = () => {
    if (scheduled || queue.length === 0 || underway >= maxUnderway) return
    scheduled = true
    setImmediate(drain)
  }

  const watch = () => {
    const now = performance.now()
    for (const pending of waiting) {
      if (now - pending.since < deadlineMs) break
      const message = `no answer within ${deadlineMs} ms`
      pending.reject(new Unavailable(pending.change.component, pending.issued ? 'unknown' : 'no', message))
    }
    if (waiting.size > 0) return
    clearInterval(watchdog)
    watchdog = undefined
  }

  const submit = <R>(change: Change<R>) =>
    new Promise<R>((resolve, reject) => {
      const settle = () => {
        pending.settled = true
        waiting.delete(pending)
      }
      const pending: Pending = {
        change,
        since: performance.now(),
        settled: false,
        issued: false,
        resolve: (result) => {
          settle()
          resolve(result as R)
        },
        reject: (error) => {
          settle()
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- passes on what was thrown
          reject(error)
        },
      }
      waiting.add(pending)
      watchdog ??= setInterval(watch, 1_000).unref()
      queue.push(pending)
      schedule()
    })

  /** Decides one change; undefined when it needs no write. Throws what the change is to be rejected with. */
  const plan = (pending: Pending, refuseNew: () => boolean): Write | undefined => {
    const { key, clock, component, essential, decide } = pending.change
    const entry = orUnavailable(component, () => readEntry(tables, key))
    const now = clock()
    const { result, write } = decide(entry && isLive(entry.envelope, now) ? entry.envelope : undefined, now)
    if (write === undefined) {
      pending.resolve(result)
      return undefined
    }
    if (entry === undefined && write !== null && essential !== true && orUnavailable(component, refuseNew))
      throw new Unavailable(component, 'no', 'the store is full')
    return { pending, entry, result, replacement: write, text: write === null ? '' : encodeEnvelope(write) }
  }

  const issue = ({ pending, entry, replacement, text }: Write): Promise<boolean> => {
    const { key } = pending.change
    pending.issued = true
    if (replacement === null) return entry ? records.remove(key, entry.version) : Promise.resolve(true)
    const { expires } = replacement
    const planned = entry?.envelope.expires
    if (expires !== undefined && !(planned !== undefined && planned <= expires))
      void expiry.put(expiryKey(expires, key), anchor)
    // A random version and not a counter: a record that was collected and came back must not look like the old one.
    return records.put(key, text, 1 + Math.random(), entry?.version ?? (null as unknown as number))
  }

  /** A transaction is applied as a whole: whether it was, its first record shows. */
  const nothingApplied = ([first]: readonly Write[]): boolean => {
    try {
      refresh(tables)
      return first !== undefined && readEntry(tables, first.pending.change.key)?.version === first.entry?.version
    } catch {
      return false
    }
  }

  const commit = async (writes: readonly Write[]) => {
    const outcomes: Promise<boolean>[] = []
    try {
      const batch: Batch = records.batch(() => {
        for (const write of writes) outcomes.push(issue(write))
      })
      void Promise.allSettled(outcomes)
      await batch
      await batch.flushed
      const won = await Promise.all(outcomes)
      writes.forEach(({ pending, result }, index) => {
        if (pending.settled) return
        if (won[index] === true) pending.resolve(result)
        else queue.push(pending)
      })
    } catch (error) {
      const reason = await commitFailure(error)
      const applied = nothingApplied(writes) ? 'no' : 'unknown'
      for (const { pending } of writes) pending.reject(unavailable(pending.change.component, applied, reason))
    }
  }

  /** Takes from the queue what fits into one transaction and on the disk. */
  const planBatch = (): Write[] => {
    let full: boolean | undefined
    const refuseNew = () => (full ??= isFull())
    let room: number | undefined
    let fresh: true | undefined
    const writes: Write[] = []
    for (let pending; writes.length < maxBatch && (pending = queue.shift());) {
      const { component } = pending.change
      try {
        fresh ??= orUnavailable(component, () => refresh(tables))
        const write = pending.settled ? undefined : plan(pending, refuseNew)
        if (write === undefined) continue
        room = (room ?? orUnavailable(component, disk.left) - disk.forCollecting) - bytesToChange(write.text.length)
        if (room < 0 && writes.length > 0) {
          queue.unshift(pending)
          break
        }
        if (room < 0) throw new Unavailable(component, 'no', 'the disk is full')
        writes.push(write)
      } catch (error) {
        pending.reject(error)
      }
    }
    return writes
  }

  const drain = () => {
    scheduled = false
    const writes = planBatch()
    if (writes.length > 0) {
      underway += 1
      void commit(writes).finally(() => {
        underway -= 1
        schedule()
      })
    }
    schedule()
  }

  return { submit }
}
