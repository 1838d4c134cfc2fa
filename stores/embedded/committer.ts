import { Unavailable, type Clock } from '../../core/api/storage.js'
import { bytesToChange, type DiskRoom } from './disk-room.js'
import { encodeEnvelope, isLive, type Envelope } from './envelope.js'
import { commitFailure, orUnavailable, unavailable } from './failure.js'
import { exitInSpiteOf } from './hanging.js'
import { expiryKey } from './key.js'
import { readEntry, refresh, type Entry, type Tables } from './tables.js'

export interface Decision<R> {
  readonly result: R
  /** The new record. Null removes it; if absent, nothing changes. */
  readonly write?: Envelope | null
}

export interface Change<R> {
  readonly key: Buffer
  readonly clock: Clock
  /** The caller's name in `Unavailable`. */
  readonly component: string
  /** Accepted even when the store is full. */
  readonly essential?: boolean
  /**
   * Called with the record if it has not expired. It must be pure: it is called again when another writer was faster.
   */
  decide(current: Envelope | undefined, now: number): Decision<R>
}

export interface Committer {
  /** Resolves when the change is on disk. Changes to one record, in all processes, each see the previous one. */
  submit<R>(change: Change<R>): Promise<R>
}

interface Pending {
  readonly change: Change<unknown>
  readonly since: number
  settled: boolean
  /** True once LMDB has the change: it may then happen although nobody waits for it any more. */
  issued: boolean
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** The change of one record in one transaction. */
interface Write {
  readonly key: Buffer
  readonly entry: Entry | undefined
  /** In order, each decided on the result of the previous one. All of it happens, or nothing. */
  readonly decided: { readonly pending: Pending; readonly result: unknown }[]
  replacement: Envelope | null
  /** The encoded new record; empty for a removal. */
  text: string
}

interface Plan extends Decision<unknown> {
  readonly entry: Entry | undefined
}

/** The changes to one store, and what becomes of them in this process. */
interface Commits {
  readonly tables: Tables
  readonly isFull: () => boolean
  readonly disk: DiskRoom
  /** In the order in which they came; those of the transaction that is under way are not in it. */
  queue: Pending[]
  /** All that are not settled, the oldest first. */
  readonly waiting: Set<Pending>
  /** A transaction is being written. */
  writing: boolean
  /** `drain` runs in the next turn of the event loop. */
  scheduled: boolean
  watchdog: NodeJS.Timeout | undefined
}

const deadlineMs = 5_000
const maxBatch = 256
/**
 * Sixteen full transactions: on a disk that needs 50 ms for each, a later caller would get no answer within the 800
 * ms of a store (docs/design/faults.md#rule-2). While LMDB hangs, no more than this is kept, however many callers
 * there are.
 */
const maxQueue = 16 * maxBatch

const anchor = Buffer.from([1])

const schedule = (commits: Commits): void => {
  if (commits.scheduled || commits.writing || commits.queue.length === 0) return
  commits.scheduled = true
  setImmediate(drain, commits)
}

const watch = (commits: Commits): void => {
  const now = performance.now()
  for (const pending of commits.waiting) {
    if (now - pending.since < deadlineMs) break
    const message = `no answer within ${deadlineMs} ms`
    pending.reject(new Unavailable(pending.change.component, pending.issued ? 'unknown' : 'no', message))
  }
  // While a store hangs for hours, callers that have gone must not be remembered.
  commits.queue = commits.queue.filter(({ settled }) => !settled)
  if (commits.waiting.size > 0) return
  clearInterval(commits.watchdog)
  commits.watchdog = undefined
}

const submit = <R>(commits: Commits, change: Change<R>): Promise<R> =>
  new Promise<R>((resolve, reject) => {
    if (commits.queue.length >= maxQueue) throw new Unavailable(change.component, 'no', 'too many changes wait')
    const settle = () => {
      pending.settled = true
      commits.waiting.delete(pending)
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
    commits.waiting.add(pending)
    commits.watchdog ??= setInterval(watch, 1_000, commits).unref()
    commits.queue.push(pending)
    schedule(commits)
  })

/** Decides one change, on the result of an earlier one in this transaction. Throws the error for its caller. */
const plan = (tables: Tables, { change }: Pending, earlier: Write | undefined, refuseNew: () => boolean): Plan => {
  const { key, clock, component, essential, decide } = change
  const entry = earlier ? earlier.entry : orUnavailable(component, () => readEntry(tables, key))
  const current = earlier ? earlier.replacement : entry?.envelope
  const now = clock()
  const decision = decide(current && isLive(current, now) ? current : undefined, now)
  const isNew = entry === undefined && earlier === undefined && (decision.write ?? null) !== null
  if (isNew && essential !== true && orUnavailable(component, refuseNew))
    throw new Unavailable(component, 'no', 'the store is full')
  return { ...decision, entry }
}

const issue = ({ records, expiry }: Tables, { key, decided, entry, replacement, text }: Write): Promise<boolean> => {
  for (const { pending } of decided) pending.issued = true
  if (replacement === null) return entry ? records.remove(key, entry.version) : Promise.resolve(true)
  const { expires } = replacement
  const planned = entry?.envelope.expires
  if (expires !== undefined && !(planned !== undefined && planned <= expires))
    void expiry.put(expiryKey(expires, key), anchor)
  // The version is random and not a counter, because a record that was collected and written again must not look
  // like the old one.
  return records.put(key, text, 1 + Math.random(), entry?.version ?? (null as unknown as number))
}

/** A transaction is applied as a whole, so its first record shows whether it was. */
const nothingApplied = (tables: Tables, [first]: readonly Write[]): boolean => {
  try {
    refresh(tables)
    return first !== undefined && readEntry(tables, first.key)?.version === first.entry?.version
  } catch {
    return false
  }
}

const commit = async (commits: Commits, writes: readonly Write[]): Promise<void> => {
  const { tables } = commits
  const outcomes: Promise<boolean>[] = []
  try {
    const batch = tables.records.batch(() => {
      for (const write of writes) outcomes.push(issue(tables, write))
    })
    void Promise.allSettled(outcomes)
    await batch
    const won = await Promise.all(outcomes)
    writes.forEach(({ decided }, index) => {
      for (const { pending, result } of decided) {
        if (pending.settled) continue
        if (won[index] === true) pending.resolve(result)
        else commits.queue.push(pending)
      }
    })
  } catch (error) {
    const reason = await commitFailure(error)
    const applied = nothingApplied(tables, writes) ? 'no' : 'unknown'
    for (const { pending } of writes.flatMap(({ decided }) => decided))
      pending.reject(unavailable(pending.change.component, applied, reason))
  }
}

/** Takes from the queue what fits into one transaction and on the disk. */
const planBatch = (commits: Commits): readonly Write[] => {
  const { tables, isFull, disk } = commits
  let full: boolean | undefined
  const refuseNew = () => (full ??= isFull())
  let room: number | undefined
  let fresh: true | undefined
  const later: Pending[] = []
  const writes = new Map<string, Write>()
  let taken = 0
  for (const pending of commits.queue) {
    if (writes.size === maxBatch) break
    taken += 1
    const { component, key } = pending.change
    const id = key.toString('latin1')
    try {
      fresh ??= orUnavailable(component, () => refresh(tables))
      const earlier = writes.get(id)
      const { entry, result, write } = plan(tables, pending, earlier, refuseNew)
      if (write === undefined) {
        // The result is not known before the transaction is over.
        if (earlier) earlier.decided.push({ pending, result })
        else pending.resolve(result)
        continue
      }
      // A record that is created and removed at once would leave nothing for another process to lose against.
      if (earlier && write === null && entry === undefined) {
        later.push(pending)
        continue
      }
      const text = write === null ? '' : encodeEnvelope(write)
      room = (room ?? orUnavailable(component, disk.left) - disk.forCollecting) - bytesToChange(text.length)
      if (room < 0 && writes.size > 0) {
        taken -= 1
        break
      }
      if (room < 0) throw new Unavailable(component, 'no', 'the disk is full')
      if (earlier) {
        earlier.decided.push({ pending, result })
        Object.assign(earlier, { replacement: write, text })
      } else writes.set(id, { key, entry, decided: [{ pending, result }], replacement: write, text })
    } catch (error) {
      pending.reject(error)
    }
  }
  commits.queue = [...later, ...commits.queue.slice(taken)]
  return [...writes.values()]
}

const drain = (commits: Commits): void => {
  commits.scheduled = false
  const writes = planBatch(commits)
  commits.writing = writes.length > 0
  if (commits.writing) {
    const committed = commit(commits, writes)
    exitInSpiteOf(committed)
    void committed.finally(() => {
      commits.writing = false
      schedule(commits)
    })
  }
  schedule(commits)
}

/**
 * Group commit by compare-and-set. All waiting changes are decided on the newest state and written as one LMDB
 * transaction in a thread, each on the condition that its record still has the version it was decided on; changes
 * that arrive meanwhile form the next transaction. LMDB's write lock is never held while JavaScript runs, so a busy
 * event loop stops no other process. Changes to one record are decided in sequence and written once, so that a
 * popular counter costs one write per transaction.
 */
export const createCommitter = (tables: Tables, isFull: () => boolean, disk: DiskRoom): Committer => {
  const commits: Commits = {
    tables,
    isFull,
    disk,
    queue: [],
    waiting: new Set(),
    writing: false,
    scheduled: false,
    watchdog: undefined,
  }
  return { submit: (change) => submit(commits, change) }
}
