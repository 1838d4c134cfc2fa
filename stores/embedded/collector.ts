import type { Clock } from '../../core/api/storage.js'
import { commitFailure } from './failure.js'
import { bytesToChange } from './disk-room.js'
import type { Environment } from './environment.js'
import { collectableAt } from './envelope.js'
import { exitInSpiteOf } from './hanging.js'
import { expiredBefore, expiryKey, keyOfExpiry } from './key.js'
import { noteForgotten } from './forgotten.js'
import { readEntry, refresh, type Entry, type Tables } from './tables.js'

/** Index entries examined in one turn of the event loop. */
const maxPerPass = 256
const idleMs = 1_000
const busyMs = 10
const readerCheckMs = 60_000

const anchor = Buffer.from([1])

/** An index entry that is due, and its record if that still exists. */
interface Due {
  readonly index: Buffer
  readonly key: Buffer
  readonly entry: Entry | undefined
}

const mayGo = ({ entry }: Due, now: number): boolean => {
  const at = entry && collectableAt(entry.envelope)
  return at !== undefined && now >= at
}

/** Removes the record of an index entry, or moves the entry, on the condition that the record is unchanged. */
const collectOne = ({ records, expiry }: Tables, due: Due, now: number): Promise<boolean> => {
  const { index, key, entry } = due
  if (entry === undefined) return records.ifNoExists(key, () => void expiry.remove(index))
  return records.ifVersion(key, entry.version, () => {
    void expiry.remove(index)
    const at = collectableAt(entry.envelope)
    if (mayGo(due, now)) void records.remove(key)
    else if (at !== undefined) void expiry.put(expiryKey(at, key), anchor)
  })
}

const lastClaim = (due: readonly Due[], now: number): number => {
  const claims = due.filter((one) => one.entry?.envelope.claim === true && mayGo(one, now))
  return Math.max(0, ...claims.map(({ entry }) => entry?.envelope.expires ?? 0))
}

/** Collects at most `limit` expired records. Returns true when there may be more. */
export const collect = async (tables: Tables, now: number, limit = maxPerPass): Promise<boolean> => {
  refresh(tables)
  const due = [...tables.expiry.getKeys({ end: expiredBefore(now), limit })].map((index): Due => {
    const key = keyOfExpiry(index)
    return { index, key, entry: readEntry(tables, key) }
  })
  if (due.length === 0) return false
  const end = lastClaim(due, now)
  while (end > 0 && !(await noteForgotten(tables, end))) refresh(tables)
  const outcomes: Promise<boolean>[] = []
  const batch = tables.records.batch(() => {
    for (const one of due) outcomes.push(collectOne(tables, one, now))
  })
  await Promise.all([batch, ...outcomes])
  return due.length === limit
}

/** Collects in the background, a bounded amount at a time, until stopped. It keeps no process alive. */
export const startCollector = (environment: Environment, clock: Clock): (() => Promise<void>) => {
  let stopped = false
  let pass = Promise.resolve()
  let readersChecked = performance.now()

  const run = async () => {
    let more = false
    try {
      const limit = Math.min(maxPerPass, Math.floor(environment.disk.left() / bytesToChange(0)))
      more = limit > 0 && (await collect(environment, clock(), limit))
      if (performance.now() - readersChecked > readerCheckMs) {
        readersChecked = performance.now()
        environment.readerCheck()
      }
    } catch (error) {
      // Nothing is lost: every read checks expiry, and another pass follows. Writers get the disk's error.
      await commitFailure(error)
    }
    if (!stopped) timer = wait(more ? busyMs : idleMs)
  }
  const wait = (ms: number) =>
    setTimeout(() => {
      pass = run()
      exitInSpiteOf(pass)
    }, ms).unref()
  let timer = wait(idleMs)

  return async () => {
    stopped = true
    clearTimeout(timer)
    await pass
  }
}
