import { encodeEnvelope, envelope, type Envelope } from './envelope.js'
import type { Table } from './table.js'
import { readEntry, type Tables } from './tables.js'

/**
 * What the store says of claims that it has collected. By a clock that was set back, what they were of may be in time once
 * more: nothing is answered then for a time of which something was collected (F23).
 */
interface Forgotten {
  /** When the last of them ended, by the clock of its process: milliseconds since the epoch. */
  readonly end: number
  /** `end`, when a clock was found to be behind it; 0: none ever was. */
  readonly fence: number
}

// No collection begins with NUL, so this is no record of one.
const key = Buffer.from('\0forgotten')

/** Milliseconds that a clock may be behind that of another process; callers make their claims outlast that. */
const slack = 30_000

const read = (found: Envelope | undefined): Forgotten =>
  (found?.record as Forgotten | undefined) ?? { end: 0, fence: 0 }

/** To be called before claims are removed of which the last ends at `end`. False: another process was faster, try again. */
export const noteForgotten = async (tables: Tables, end: number): Promise<boolean> => {
  const entry = readEntry(tables, key)
  const known = read(entry?.envelope)
  if (known.end >= end) return true
  const text = encodeEnvelope(envelope({ ...known, end }))
  // As the committer does: no two states of it have one version.
  return tables.records.put(key, text, 1 + Math.random(), entry?.version ?? (null as unknown as number))
}

/** Since when every claim is remembered, as far as it is known by now; the same in all processes. */
export const findFence = (table: Table): number => read(table.find(key)).fence

/** The same, after a look at the clock. */
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
