import { statfsSync } from 'node:fs'

/** The disk that a path is on. */
export interface DiskSpace {
  /** Bytes. */
  readonly total: number
  /** Bytes that this process may still write, from a reading at most `maxAgeMs` milliseconds old. */
  free(maxAgeMs: number): number
}

/** Throws the system's error when the path does not exist. */
export const createDiskSpace = (path: string): DiskSpace => {
  const { blocks, bsize } = statfsSync(path)
  let free = 0
  let sampled = -Infinity
  return {
    total: blocks * bsize,
    free(maxAgeMs) {
      const now = performance.now()
      if (now - sampled >= maxAgeMs) {
        free = statfsSync(path).bavail * bsize
        sampled = now
      }
      return free
    },
  }
}
