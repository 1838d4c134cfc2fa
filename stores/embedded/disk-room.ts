import { createDiskSpace } from '../../core/api/storage.js'

const pageBytes = 4096

/**
 * What one change may need at the worst: copies of the pages on its way through both trees and through that of free
 * pages, all split, and its value twice.
 */
export const bytesToChange = (valueLength: number): number => 16 * pageBytes + 2 * valueLength

export interface DiskRoom {
  /** Bytes that may be written before the disk is full: half of what is free, because other processes write too. */
  left(): number
  /** What is kept for collecting what expired: with less, nothing is written but that. */
  readonly forCollecting: number
  /** What is kept for consuming what was admitted: with less, nothing new is. */
  readonly forConsuming: number
}

const maxReserve = 4 * 1024 * 1024
const plentyBytes = 256 * 1024 * 1024
const sampleMs = 100

/** LMDB must not be let run into the end of the disk: the error path of lmdb 3.5 for ENOSPC writes past a buffer. */
export const createDiskRoom = (path: string): DiskRoom => {
  const disk = createDiskSpace(path)
  const forCollecting = 2 * bytesToChange(0)
  let left = 0
  return {
    forCollecting,
    forConsuming: forCollecting + Math.min(maxReserve, disk.total / 8),
    left: () => (left = disk.free(left < plentyBytes ? 0 : sampleMs) / 2),
  }
}
