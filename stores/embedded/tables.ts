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

/** Makes the next read see the newest state, and not the snapshot that an earlier one of this turn took. */
export const refresh = ({ records }: Tables): true => {
  records.resetReadTxn()
  return true
}

/** The record, as of the last `refresh` or later. */
export const readEntry = ({ records }: Tables, key: Buffer): Entry | undefined => {
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
  const stats = records.getStats() as Stats
  const used = (pagesOf(stats) + pagesOf(expiry.getStats() as Stats)) * stats.pageSize
  return { used, free: (stats.lastPageNumber + 1) * stats.pageSize - used }
}
