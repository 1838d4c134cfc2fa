import { createDiskSpace } from '../../core/api/storage.js'

const pageBytes = 4096

/**
 * The worst-case bytes of one change: copies of the pages on its path through both trees and the tree of free pages,
 * all split, and its value twice.
 */
export const bytesToChange = (valueLength: number): number => 16 * pageBytes + 2 * valueLength

export interface DiskRoom {
  /** Bytes that may be written before the disk is full. Half of the free space, because other processes write too. */
  left(): number
  /** Reserved for collecting expired records. With less, nothing else is written. */
  readonly forCollecting: number
  /** Reserved for consuming existing records. With less, nothing new is accepted. */
  readonly forConsuming: number
}

const maxReserve = 4 * 1024 * 1024
const plentyBytes = 256 * 1024 * 1024
const sampleMs = 100

/** LMDB must not reach the end of the disk: the error path of lmdb 3.5 for ENOSPC writes past a buffer. */
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
