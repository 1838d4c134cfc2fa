import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onContinuousIntegration } from '../services/table.js'

/** A disk that can be full. */
export interface SmallDisk extends Disposable {
  readonly path: string
  /** `4m` */
  resize(size: string): void
  /** Takes all that is left, as a log might. */
  fill(): void
  /** Gives back what `fill` took. */
  free(): void
}

/** Mounts a tmpfs of this size; undefined, and reported, without the right to. On continuous integration it throws. */
export const mountSmallDisk = (size: string): SmallDisk | undefined => {
  const path = mkdtempSync(join(tmpdir(), 'signet-disk-'))
  const hog = join(path, 'hog')
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path], { stdio: 'pipe' })
  } catch (error) {
    rmSync(path, { recursive: true })
    if (onContinuousIntegration()) throw error
    console.warn('SKIPPED: a full disk. It needs the right to mount a tmpfs.')
    return undefined
  }
  return {
    path,
    resize: (other) => void execFileSync('mount', ['-o', `remount,size=${other}`, path]),
    fill() {
      const block = Buffer.alloc(4096, 1)
      const file = openSync(hog, 'a')
      try {
        for (;;) writeSync(file, block)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      } finally {
        closeSync(file)
      }
    },
    free: () => rmSync(hog, { force: true }),
    [Symbol.dispose]: () => {
      execFileSync('umount', [path])
      rmSync(path, { recursive: true })
    },
  }
}
