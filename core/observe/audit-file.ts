import { writeSync } from 'node:fs'
import { mkdir, open, type FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { Clock } from '../clock.js'
import { createDiskSpace } from '../disk-space.js'
import { Unavailable } from '../unavailable.js'
import { lineHash } from './audit-chain.js'
import { createAuditLog, type AuditFile, type AuditOptions, type Continued, type Sink } from './audit-log.js'
import { createLineOutput, standardOutput, type LineOutput } from './standard-output.js'
import { wholeLines, type Written } from './whole-lines.js'

/** Bytes of disk reserved for mandatory lines: about what a service signs in an hour. */
const maxReserve = 64 * 1024 * 1024
const sampleMs = 1000

/** Whether more disk space is left than is reserved. The system is asked at most once a second. */
const watchRoom = (path: string): (() => boolean) => {
  const disk = createDiskSpace(path)
  const reserve = Math.min(maxReserve, disk.total / 4)
  return () => disk.free(sampleMs) >= reserve
}

/**
 * Appends to `path` with mode 0600; pipes are refused. `record` throws `Unavailable` when the disk is full or gone
 * (F34).
 */
const openAuditFile = async (path: string, clock: Clock, options: AuditOptions): Promise<AuditFile> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  let file = await openToAppend(path)
  // A process that was killed while writing may have left half a line.
  const { torn } = await readEnd(file)
  // Written synchronously on purpose: it takes 4 µs into the page cache, once a turn. On the thread pool, the same
  // write cost each request of a saturated core four thread wake-ups, a fifth of its time.
  const put = (bytes: Buffer): Written => {
    let written = 0
    try {
      while (written < bytes.length) written += writeSync(file.fd, bytes, written)
      return { written }
    } catch (cause) {
      return { written, cause }
    }
  }
  const last = async (): Promise<string | undefined> => {
    try {
      const { last: line } = await readEnd(file)
      return line && lineHash(line)
    } catch (cause) {
      throw new Unavailable('audit', 'no', 'the audit log cannot be read', { cause })
    }
  }
  let write = wholeLines(put, torn)
  const reopen = async (): Promise<Continued | undefined> => {
    const before = file
    const now = await openToAppend(path).catch((cause: unknown) => {
      throw new Unavailable('audit', 'no', 'the audit log cannot be opened again', { cause })
    })
    if (await isSameFile(before, now)) return void (await now.close())
    const { torn: isTorn } = await readEnd(now)
    // Lines are written within one turn of the event loop, so none is split between two files.
    file = now
    write = wholeLines(put, isTorn)
    const { last: line } = await readEnd(before)
    await before.close()
    return { file: basename(path), head: line && lineHash(line) }
  }
  const sink: Sink = {
    ...{ last, reopen, write: (lines) => write(lines), hasRoom: watchRoom(dirname(path)) },
    close: () => file.close(),
  }
  return createAuditLog(sink, clock, options)
}

/** Throws `Unavailable` for a pipe. */
const openToAppend = async (path: string): Promise<FileHandle> => {
  const file = await open(path, 'a+', 0o600)
  if (!(await file.stat()).isFIFO()) return file
  await file.close()
  // The reader of a pipe would block the event loop.
  throw new Unavailable('audit', 'no', 'audit.file is a pipe: write `audit: stdout` to print the audit log')
}

const isSameFile = async (one: FileHandle, other: FileHandle): Promise<boolean> => {
  const [left, right] = await Promise.all([one.stat(), other.stat()])
  return left.dev === right.dev && left.ino === right.ino
}

const lineFeed = 0x0a

/** The last line with a line feed, and whether anything follows it. */
const readEnd = async (file: FileHandle): Promise<{ readonly last?: string; readonly torn: boolean }> => {
  const { size } = await file.stat()
  for (let length = Math.min(size, 16 * 1024); length > 0; length = Math.min(size, 4 * length)) {
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length)
    const end = buffer.lastIndexOf(lineFeed)
    const begin = end > 0 ? buffer.lastIndexOf(lineFeed, end - 1) : -1
    if (length < size && begin === -1) continue
    const torn = end !== length - 1
    return end === -1 ? { torn } : { last: buffer.toString('utf8', begin + 1, end), torn }
  }
  return { torn: false }
}

/** Writes to standard error, where lines of other processes are never read back. */
export const openAuditOnErrors = (issuer: string, clock: Clock): AuditFile =>
  openAuditLines(createLineOutput(process.stderr), clock, { issuer })

const openAuditLines = ({ write }: LineOutput, clock: Clock, options: AuditOptions): AuditFile =>
  createAuditLog({ write, hasRoom: () => true, close: async () => undefined }, clock, options)

export interface AuditedIssuer {
  readonly issuer: string
  readonly audit: 'stdout' | { readonly file: string }
}

/** Opens the audit log that the configuration of an issuer names. */
export const openAudit = (
  { issuer, audit }: AuditedIssuer,
  clock: Clock,
  options?: Omit<AuditOptions, 'issuer'>,
): Promise<AuditFile> =>
  audit === 'stdout'
    ? Promise.resolve(openAuditLines(standardOutput(), clock, { issuer, ...options }))
    : openAuditFile(audit.file, clock, { issuer, ...options })
