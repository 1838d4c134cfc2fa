import { encodeEnvelope, envelope, type Envelope } from './envelope.js'
import type { Table } from './table.js'
import { readEntry, type Tables } from './tables.js'

/**
 * What the store knows of claims that it has collected. By a clock that was set back, the claimed ids may be valid
 * once more, so nothing is vouched for at a time from which something was collected (F23).
 */
interface Forgotten {
  /** When the last of them ended, by its process's clock, in milliseconds since the epoch. */
  readonly end: number
  /** `end`, once a clock was found to be behind it; 0 if none was. */
  readonly fence: number
}

// No collection name starts with NUL, so this key never collides with a record.
const key = Buffer.from('\0forgotten')

/** Milliseconds that a process's clock may be behind another's. Callers make their claims outlast it. */
const slack = 30_000

const read = (found: Envelope | undefined): Forgotten =>
  (found?.record as Forgotten | undefined) ?? { end: 0, fence: 0 }

/**
 * Call before removing claims of which the last ends at `end`. False means that another process was faster: try
 * again.
 */
export const noteForgotten = async (tables: Tables, end: number): Promise<boolean> => {
  const entry = readEntry(tables, key)
  const known = read(entry?.envelope)
  if (known.end >= end) return true
  const text = encodeEnvelope(envelope({ ...known, end }))
  // Like in the committer, no two states share a version.
  return tables.records.put(key, text, 1 + Math.random(), entry?.version ?? (null as unknown as number))
}

/** Since when every claim is remembered, as far as known now. The same in all processes. */
export const findFence = (table: Table): number => read(table.find(key)).fence

/** The same, after checking the clock. */
export const raiseFence = async (table: Table): Promise<number> => {
  const isBehind = ({ end, fence }: Forgotten, now: number): boolean => end > fence && end - now > slack
  const known = read(table.find(key))
  if (!isBehind(known, table.now())) return known.fence
  const raise = (current: Envelope | undefined, now: number) => {
    const { end, fence } = read(current)
    return isBehind({ end, fence }, now) ? { result: end, write: envelope({ end, fence: end }) } : { result: fence }
  }
  return table.update(key, raise, 'essential')
}
