import type { Clock } from '../../clock.js'
import { commitFailure } from './failure.js'
import { bytesToChange } from './disk-room.js'
import type { Environment } from './environment.js'
import { isLive } from './envelope.js'
import { expiredBefore, expiryKey, keyOfExpiry } from './key.js'
import { readEntry, refresh, type Tables } from './tables.js'

/** Index entries looked at in one turn of the event loop. */
const maxPerPass = 256
const idleMs = 1_000
const busyMs = 10
const readerCheckMs = 60_000

const anchor = Buffer.from([1])

/** Removes what the index entry points to, or moves the entry; each on the condition that the record is as it was read. */
const collectOne = (tables: Tables, index: Buffer, now: number): Promise<boolean> => {
  const { records, expiry } = tables
  const key = keyOfExpiry(index)
  const entry = readEntry(tables, key)
  if (entry === undefined) return records.ifNoExists(key, () => void expiry.remove(index))
  const { envelope, version } = entry
  return records.ifVersion(key, version, () => {
    void expiry.remove(index)
    if (!isLive(envelope, now)) void records.remove(key)
    else if (envelope.expires !== undefined) void expiry.put(expiryKey(envelope.expires, key), anchor)
  })
}

/** Collects at most `limit` expired records. True when there may be more. */
export const collect = async (tables: Tables, now: number, limit = maxPerPass): Promise<boolean> => {
  refresh(tables)
  const due = [...tables.expiry.getKeys({ end: expiredBefore(now), limit })]
  if (due.length === 0) return false
  const outcomes: Promise<boolean>[] = []
  const batch = tables.records.batch(() => {
    for (const index of due) outcomes.push(collectOne(tables, index, now))
  })
  await Promise.all([batch, ...outcomes])
  return due.length === limit
}

/** Collects in the background, a bounded amount at a time, until it is stopped. Keeps no process alive. */
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
      // Nothing is lost: expiry is part of every read, and the next pass comes. What the disk says, writers are told.
      await commitFailure(error)
    }
    if (!stopped) timer = wait(more ? busyMs : idleMs)
  }
  const wait = (ms: number) =>
    setTimeout(() => {
      pass = run()
    }, ms).unref()
  let timer = wait(idleMs)

  return async () => {
    stopped = true
    clearTimeout(timer)
    await pass
  }
}
