import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'

/** A pipe of the system, of which nothing is read unasked. */
export interface SlowPipe extends Disposable {
  /** For a process to write to. */
  readonly end: number
  /** Takes at most so many bytes of what is there, and says how many. */
  take(bytes: number): number
  /** Takes what is there. */
  drain(): void
  /** All that was taken. */
  text(): string
}

/** `path` is where it is made. */
export const openSlowPipe = (path: string): SlowPipe => {
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const end = openSync(path, constants.O_WRONLY)
  const taken: Buffer[] = []
  const take = (bytes: number): number => {
    const piece = Buffer.alloc(bytes)
    try {
      const length = readSync(reader, piece)
      taken.push(piece.subarray(0, length))
      return length
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0
      throw error
    }
  }
  return {
    end,
    take,
    drain() {
      while (take(64 * 1024) > 0);
    },
    text: () => Buffer.concat(taken).toString('utf8'),
    [Symbol.dispose]: () => closeSync(reader),
  }
}
