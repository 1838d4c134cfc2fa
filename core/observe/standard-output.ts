import { writeSync } from 'node:fs'
import { atMost } from '../deadline.js'
import { putTo, wholeLines, type OutputStream, type Written } from './whole-lines.js'

/** Lines are gathered for this long, or until there are so many of them: each write is a call of the system. */
const gatherMs = 200
const batchLength = 16 * 1024
/** What is kept when nobody reads. Beyond it lines are dropped: the service goes on. */
const maxLength = 16 * 1024 * 1024
/** Nobody's end waits longer for a reader. */
const patienceMs = 1000

export interface LineOutput {
  /** Writes `lines` before what is gathered. Resolves when the operating system has them, or cannot take them. */
  write(lines: string): Promise<Written>
  /** Writes `line` some time. Never throws or rejects. */
  gather(line: string): void
  /** Resolves when all lines are written, or cannot be. */
  flush(): Promise<void>
  /** For the end of the process: writes what was gathered by calls that block. */
  flushSync(): void
}

/** All that this process writes to a stream, one write after the other: whole lines, no matter where they come from. */
export const createLineOutput = (stream: OutputStream): LineOutput => {
  const put = wholeLines(putTo(stream))
  const asked: { readonly lines: string; readonly tell: (written: Written) => void }[] = []
  let batches: string[] = []
  let current = ''
  let length = 0
  /** Batches are to be written. After a failure they wait for the next line. */
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
    while (asked.length > 0 || isDue) {
      const first = asked.shift()
      if (first !== undefined) first.tell(await put(first.lines))
      // One of these after each of those: neither waits for all of the others.
      if (isDue) await writeBatch()
    }
    isRunning = false
  }

  const start = (): Promise<void> => {
    if (!isRunning) running = run()
    return running
  }

  const writeGathered = (): void => {
    cut()
    void start()
  }

  return {
    write: (lines) =>
      new Promise((tell) => {
        asked.push({ lines, tell })
        void start()
      }),
    gather(line) {
      if (length + line.length > maxLength) return
      length += line.length
      current += line
      if (current.length >= batchLength) writeGathered()
      else timer ??= setTimeout(writeGathered, gatherMs).unref()
    },
    async flush() {
      cut()
      await atMost(patienceMs, start())
    },
    flushSync() {
      cut()
      // What is under way may stay in mid-line.
      if (isDue) putNow(stream.fd, Buffer.from(`${isRunning ? '\n' : ''}${batches.join('')}`))
      batches = []
    },
  }
}

let shared: LineOutput | undefined

/** There is one of it in a process, for the log and the audit log. */
export const standardOutput = (): LineOutput => (shared ??= createLineOutput(process.stdout))

/** What is left of `lines` when so many bytes were written: a line that was written in part is written again. */
const afterLines = (lines: string, written: number): string => {
  const bytes = Buffer.from(lines)
  const end = written === 0 ? -1 : bytes.lastIndexOf(0x0a, written - 1)
  return bytes.toString('utf8', end + 1)
}

const putNow = (fd: number, bytes: Buffer): void => {
  const until = performance.now() + patienceMs
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
