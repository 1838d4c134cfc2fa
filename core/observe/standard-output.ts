import { writeSync } from 'node:fs'
import { atMost } from '../deadline.js'
import { putTo, wholeLines, type OutputStream, type Written } from './whole-lines.js'

/** Lines are buffered for this many milliseconds or up to this size, because each write is a system call. */
const batchMs = 200
const batchLength = 16 * 1024
/** Most characters buffered while nobody reads. Beyond it lines are dropped and the service continues. */
const maxLength = 16 * 1024 * 1024
/** Shutdown waits no longer than this for a reader. */
const flushTimeoutMs = 1000

export interface LineOutput {
  /** Writes `lines` ahead of buffered ones. Resolves when the operating system has them, or cannot take them. */
  write(lines: string): Promise<Written>
  /** Writes `line` later. Never throws or rejects. */
  enqueue(line: string): void
  /** Resolves when all lines are written or cannot be. */
  flush(): Promise<void>
  /** At the end of the process: writes the buffered lines with blocking calls. */
  flushSync(): void
}

/** Serialises all writes of this process to a stream, so that lines stay whole wherever they come from. */
export const createLineOutput = (stream: OutputStream): LineOutput => {
  const put = wholeLines(putTo(stream))
  const urgent: { readonly lines: string; readonly done: (written: Written) => void }[] = []
  let batches: string[] = []
  let current = ''
  let length = 0
  /** Whether batches should be written. After a failure they wait for the next line. */
  let isDue = false
  let isRunning = false
  let running = Promise.resolve()
  let timer: NodeJS.Timeout | undefined

  const cut = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (current !== '') batches.push(current)
    current = ''
    isDue = batches.length > 0
  }

  const writeBatch = async (): Promise<void> => {
    const [batch = ''] = batches.splice(0, 1)
    const { written, cause } = await put(batch)
    const rest = cause === undefined ? '' : afterLines(batch, written)
    if (rest !== '') batches.unshift(rest)
    length -= batch.length - rest.length
    isDue = cause === undefined && batches.length > 0
  }

  const run = async (): Promise<void> => {
    isRunning = true
    while (urgent.length > 0 || isDue) {
      const first = urgent.shift()
      if (first !== undefined) first.done(await put(first.lines))
      // Writes alternate between the two kinds, so neither waits for all of the other.
      if (isDue) await writeBatch()
    }
    isRunning = false
  }

  const start = (): Promise<void> => {
    if (!isRunning) running = run()
    return running
  }

  const writeBuffered = (): void => {
    cut()
    void start()
  }

  return {
    write: (lines) =>
      new Promise((done) => {
        urgent.push({ lines, done })
        void start()
      }),
    enqueue(line) {
      if (length + line.length > maxLength) return
      length += line.length
      current += line
      if (current.length >= batchLength) writeBuffered()
      else timer ??= setTimeout(writeBuffered, batchMs).unref()
    },
    async flush() {
      cut()
      await atMost(flushTimeoutMs, start())
    },
    flushSync() {
      cut()
      // A write in progress may end in mid-line.
      if (isDue) putNow(stream.fd, Buffer.from(`${isRunning ? '\n' : ''}${batches.join('')}`))
      batches = []
    },
  }
}

let shared: LineOutput | undefined

/** A process has one, shared by the log and the audit log. */
export const standardOutput = (): LineOutput => (shared ??= createLineOutput(process.stdout))

/** The rest of `lines` after `written` bytes. A partly written line is written again. */
const afterLines = (lines: string, written: number): string => {
  const bytes = Buffer.from(lines)
  const end = written === 0 ? -1 : bytes.lastIndexOf(0x0a, written - 1)
  return bytes.toString('utf8', end + 1)
}

const putNow = (fd: number, bytes: Buffer): void => {
  const until = performance.now() + flushTimeoutMs
  let written = 0
  while (written < bytes.length) {
    try {
      written += writeSync(fd, bytes, written)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() > until) return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}
