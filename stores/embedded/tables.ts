import type { Database } from 'lmdb'
import { decodeEnvelope, type Envelope } from './envelope.js'

/** A record, and the version that LMDB compares when replacing it. */
export interface Entry {
  readonly envelope: Envelope
  readonly version: number
}

export interface Tables {
  /** No two states of an entry ever have the same version, so comparing versions compares states. */
  readonly records: Database<string, Buffer>
  /**
   * Keys ordered by time. Each record that expires has an entry at or before its expiry: a record whose life was
   * extended keeps its old entry, and the collector moves it.
   */
  readonly expiry: Database<Buffer, Buffer>
}

/** Makes the next read see the newest state, not the snapshot of an earlier read in this turn. */
export const refresh = ({ records }: Tables): true => {
  records.resetReadTxn()
  return true
}

/** The record as of the last `refresh` or later. */
export const readEntry = ({ records }: Tables, key: Buffer): Entry | undefined => {
  const entry = records.getEntry(key)
  return entry && { envelope: decodeEnvelope(entry.value), version: entry.version ?? 0 }
}

interface Stats {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
  /** The number of the file's last page. */
  readonly lastPageNumber: number
}

const pagesOf = (stats: Stats): number => stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages

/** Bytes used by the records and their index, and bytes of the file that are free for reuse; it never shrinks. */
export const sizeOf = ({ records, expiry }: Tables): { readonly used: number; readonly free: number } => {
  const stats = records.getStats() as Stats
  const used = (pagesOf(stats) + pagesOf(expiry.getStats() as Stats)) * stats.pageSize
  return { used, free: (stats.lastPageNumber + 1) * stats.pageSize - used }
}
