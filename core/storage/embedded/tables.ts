import type { Database } from 'lmdb'
import { decodeEnvelope, type Envelope } from './envelope.js'

/** A record with the version that LMDB compares when it is replaced. */
export interface Entry {
  readonly envelope: Envelope
  readonly version: number
}

export interface Tables {
  /** Each entry has a version that no other state of it ever has, so that comparing versions compares states. */
  readonly records: Database<string, Buffer>
  /**
   * Keys in the order of time. Of each record that expires there is an entry at or before its expiry: a record that
   * lives longer than planned keeps its old entry, and the collector moves it.
   */
  readonly expiry: Database<Buffer, Buffer>
}

/** Reads the newest state, never that of a snapshot which an earlier read of this turn of the event loop took. */
export const readEntry = ({ records }: Tables, key: Buffer): Entry | undefined => {
  records.resetReadTxn()
  const entry = records.getEntry(key)
  return entry && { envelope: decodeEnvelope(entry.value), version: entry.version ?? 0 }
}

interface Stats {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

// Pages in use, and not the size of the file, which never shrinks: what was collected makes room again.
const pageBytes = (table: { getStats(): object }): number => {
  const stats = table.getStats() as Stats
  return (stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages) * stats.pageSize
}

/** What the records and their index take, without the pages that are free. */
export const usedBytes = ({ records, expiry }: Tables): number => pageBytes(records) + pageBytes(expiry)
