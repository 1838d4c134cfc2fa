import { parseAuditLine, verifyAudit, type AuditVerification } from '../audit-verify.js'
import { readIndex } from './index-file.js'
import { openLogFiles, readRange, wholeEnd, type LogFile } from './log-files.js'
import { timeOf } from './terms.js'

export interface AuditRange {
  /** The path of the log. */
  readonly path: string
  /** Milliseconds since the epoch: from this time on, and before that one. */
  readonly since?: number
  readonly until?: number
  /** Milliseconds after which the verification stops with what it has. */
  readonly budgetMs: number
}

export interface AuditRangeVerification extends Omit<AuditVerification, 'lostHeads'> {
  /** The times of the first and of the last line that were verified. */
  readonly first?: string
  readonly last?: string
  /** False: the time was over at `last`, and the rest of the range was not verified. */
  readonly complete: boolean
  /** Names of files that were not read, because they are compressed. */
  readonly notVerified: readonly string[]
}

const windowLength = 1024 * 1024
const lineFeed = 0x0a

/** Returns the offset at which to begin in a file, so that no line of the range is missed. */
const startIn = (path: string, file: LogFile, since: number): number => {
  let start: number | undefined
  const { end } = readIndex(path, file, (block) => {
    if (block.last >= since) start ??= block.start
  })
  return end === 0 ? 0 : (start ?? end)
}

const linesFrom = function* (file: LogFile, start: number): Generator<string> {
  let from = start
  const end = wholeEnd(file, start, file.size)
  for (let length = windowLength; from < end;) {
    const bytes = readRange(file, from, Math.min(end, from + length))
    const whole = bytes.lastIndexOf(lineFeed) + 1
    if (whole === 0) {
      if (bytes.length < length) return
      length *= 2
      continue
    }
    yield* bytes.toString('utf8', 0, whole - 1).split('\n')
    from += whole
    length = windowLength
  }
}

/**
 * Follows the chains of the lines of a range. The first line of each writer in it is taken as it is. Throws the
 * system's error.
 */
export const verifyRange = async (range: AuditRange): Promise<AuditRangeVerification> => {
  const { path, since = -Infinity, until = Infinity, budgetMs } = range
  const deadline = performance.now() + budgetMs
  using opened = openLogFiles(path)
  const state = { begun: false, ended: false, late: false }
  const times: string[] = []
  let read = 0

  const within = function* (file: LogFile): Generator<string> {
    for (const text of linesFrom(file, startIn(path, file, since))) {
      // Reading the clock costs more than reading a line.
      if (++read % 256 === 0 && performance.now() > deadline) state.late = true
      if (state.ended || state.late) return
      const time = /"time":"([^"]{20,32})"/.exec(text)?.[1] ?? parseAuditLine(text)?.['time']
      const at = timeOf(time)
      if (!state.begun && !(at >= since)) continue
      if (at >= until) {
        state.ended = true
        return
      }
      state.begun = true
      if (typeof time === 'string') times[times.length === 0 ? 0 : 1] = time
      yield text
    }
  }
  const files = opened.files.toReversed().filter((_file, index, all) => {
    const next = all[index + 1]
    return next === undefined || next.began >= since
  })
  const verified = await verifyAudit(files.map(asynchronous(within)), { partial: true })
  const [first] = times
  return {
    ...verified,
    ...(first !== undefined && { first, last: times.at(-1) ?? first }),
    complete: !state.late,
    notVerified: opened.compressed,
  }
}

const asynchronous =
  (lines: (file: LogFile) => Iterable<string>) =>
  (file: LogFile): AsyncIterable<string> => ({
    async *[Symbol.asyncIterator]() {
      yield* lines(file)
      await Promise.resolve()
    },
  })
