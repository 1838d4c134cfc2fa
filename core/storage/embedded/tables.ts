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
  /** Of the whole file. */
  readonly lastPageNumber: number
}

const pagesOf = (stats: Stats): number => stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages

/** Bytes that the records and their index take, and those of the file that wait to be used again: it never shrinks. */
export const sizeOf = ({ records, expiry }: Tables): { readonly used: number; readonly free: number } => {
  records.resetReadTxn()
  const stats = records.getStats() as Stats
  const used = (pagesOf(stats) + pagesOf(expiry.getStats() as Stats)) * stats.pageSize
  return { used, free: (stats.lastPageNumber + 1) * stats.pageSize - used }
}
