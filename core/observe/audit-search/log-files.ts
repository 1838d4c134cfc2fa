import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { lineHash } from '../audit-chain.js'
import { parseAuditLine } from '../audit-verify.js'
import { timeOf } from './terms.js'

/** One file of the audit log, open for reading. */
export interface LogFile {
  readonly path: string
  /**
   * Names the file by its first line, which no other file has: it stays the same when the file is moved, and becomes
   * another one when the file is truncated and written again.
   */
  readonly id: string
  /** The time of its first line in milliseconds since the epoch. */
  readonly began: number
  readonly fd: number
  /** Bytes, as of the opening. */
  readonly size: number
}

export interface LogFiles {
  /** The newest first. */
  readonly files: readonly LogFile[]
  /** Names of files that can only be read from their beginning, because they are compressed. */
  readonly compressed: readonly string[]
}

const lineFeed = 0x0a
/** Bytes at the beginning of a file among which its first line is looked for. */
const firstBytes = 64 * 1024

const read = (fd: number, start: number, length: number): Buffer => {
  const buffer = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const count = readSync(fd, buffer, read, length - read, start + read)
    if (count === 0) break
    read += count
  }
  return buffer.subarray(0, read)
}

/** Reads the bytes of a file from `start` to before `end`; fewer when the file has become shorter. */
export const readRange = ({ fd }: Pick<LogFile, 'fd'>, start: number, end: number): Buffer =>
  read(fd, start, Math.max(0, end - start))

const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b

/** Undefined: it has no line. `gzip`: it is compressed. */
const openLog = (path: string): LogFile | 'gzip' | undefined => {
  const fd = openSync(path, 'r')
  let file: LogFile | 'gzip' | undefined
  try {
    const { size, mtimeMs } = fstatSync(fd)
    const bytes = read(fd, 0, Math.min(size, firstBytes))
    const end = bytes.indexOf(lineFeed)
    if (isGzip(bytes)) file = 'gzip'
    else if (end > 0) {
      const line = bytes.toString('utf8', 0, end)
      const began = timeOf(parseAuditLine(line)?.['time'])
      file = { path, id: lineHash(line).slice(0, 22), began: Number.isNaN(began) ? mtimeMs : began, fd, size }
    }
    return file
  } finally {
    if (typeof file !== 'object') closeSync(fd)
  }
}

/** Names that programs such as logrotate give to the files that they move away. */
const rotatedNames = (path: string): readonly string[] => {
  const name = basename(path)
  return readdirSync(dirname(path)).filter((one) => one.startsWith(`${name}.`) || one.startsWith(`${name}-`))
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** Opens the audit log at `path` and the files beside it that it had before. Throws the system's error. */
export const openLogFiles = (path: string): LogFiles & Disposable => {
  const found = new Map<string, LogFile>()
  const compressed: string[] = []
  const close = (): void => found.forEach(({ fd }) => closeSync(fd))
  const open = (one: string): void => {
    if (!statSync(one).isFile()) return
    const file = openLog(one)
    if (file === 'gzip') compressed.push(basename(one))
    // A copy of a file has the same lines.
    else if (file !== undefined && found.has(file.id)) closeSync(file.fd)
    else if (file !== undefined) found.set(file.id, file)
  }
  const paths = [path, ...rotatedNames(path).map((name) => join(dirname(path), name))]
  for (const one of paths)
    try {
      open(one)
    } catch (error) {
      // It may be moved while the folder is read.
      if (isMissing(error)) continue
      close()
      throw error
    }
  const files = [...found.values()].toSorted((one, other) =>
    one.path === path ? -1 : other.path === path ? 1 : other.began - one.began,
  )
  return { files, compressed: compressed.toSorted(), [Symbol.dispose]: close }
}

/** Returns the end of the last whole line at or before `end`. */
export const wholeEnd = (file: Pick<LogFile, 'fd'>, start: number, end: number): number => {
  for (let length = 64 * 1024; ; length *= 4) {
    const from = Math.max(start, end - length)
    const at = readRange(file, from, end).lastIndexOf(lineFeed)
    if (at >= 0) return from + at + 1
    if (from === start) return start
  }
}
