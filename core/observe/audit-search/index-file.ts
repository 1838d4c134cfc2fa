import { closeSync, fstatSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { createDiskSpace } from '../../disk-space.js'
import { parseAuditLine } from '../audit-verify.js'
import { createBloom } from './bloom.js'
import { readRange, type LogFile } from './log-files.js'
import { eachTerm, timeOf } from './terms.js'

/** Some lines of a file of the log, one after the other, and what may be in them. */
export interface Block {
  /** The bytes of its lines: from `start` to before `end`. */
  readonly start: number
  readonly end: number
  /** The earliest and the latest time of its lines, in milliseconds since the epoch. */
  readonly first: number
  readonly last: number
  readonly bloom: Buffer
}

/**
 * The index of one file of the log: a record for each block, in their order. It is never the truth. Several processes
 * may append to it; what does not continue it is skipped, and an index that is damaged or of another file is removed.
 */
export interface IndexReading {
  /** The offset of the first line that the index lacks. */
  readonly end: number
  readonly damaged: boolean
  /** It ends within a record: it is being written, or its writer was killed. */
  readonly torn: boolean
}

const magic = 0x31494153
const headerLength = 48
const maxRecord = 4 * 1024 * 1024
const chunkLength = 1024 * 1024
const tailLength = 256

/** The folder of the indexes of a log. It can be removed at any time. */
export const indexFolder = (logPath: string): string => `${logPath}.index`

const pathOf = (logPath: string, { id }: LogFile): string => join(indexFolder(logPath), id)

/** A checksum of what precedes `end`, which shows whether the index is of these lines. */
const tailOf = (file: LogFile, start: number, end: number): number =>
  crc32(readRange(file, Math.max(start, end - tailLength), end))

const encode = (file: LogFile, { start, end, first, last, bloom }: Block): Buffer => {
  const record = Buffer.alloc(headerLength + bloom.length)
  record.writeUInt32LE(magic, 0)
  record.writeUInt32LE(record.length, 4)
  record.writeDoubleLE(start, 12)
  record.writeDoubleLE(end, 20)
  record.writeDoubleLE(first, 28)
  record.writeDoubleLE(last, 36)
  record.writeUInt32LE(tailOf(file, start, end), 44)
  bloom.copy(record, headerLength)
  record.writeUInt32LE(crc32(record.subarray(12)), 8)
  return record
}

/** Reads the records of an index in pieces of a mebibyte. Its result says why it stopped before the end. */
const readRecords = function* (fd: number, from: number): Generator<Buffer, 'damaged' | 'torn' | undefined> {
  const { size } = fstatSync(fd)
  let position = from
  let rest = Buffer.alloc(0)
  while (position < size || rest.length > 0) {
    const wanted = rest.length >= 8 ? rest.readUInt32LE(4) : 0
    const isWhole = rest.length >= headerLength && rest.length >= wanted
    if (isWhole) {
      const record = rest.subarray(0, wanted)
      const isSound =
        wanted >= headerLength + 8 &&
        record.readUInt32LE(0) === magic &&
        crc32(record.subarray(12)) === record.readUInt32LE(8)
      if (!isSound) return 'damaged'
      yield record
      rest = rest.subarray(wanted)
      continue
    }
    if (wanted > maxRecord) return 'damaged'
    if (position >= size) return 'torn'
    const more = readRange({ fd }, position, Math.min(size, position + Math.max(chunkLength, wanted)))
    if (more.length === 0) return 'torn'
    position += more.length
    rest = Buffer.concat([rest, more])
  }
  return undefined
}

const isOf = (file: LogFile, last: Buffer | undefined): boolean => {
  if (last === undefined) return true
  const [start, end] = [last.readDoubleLE(12), last.readDoubleLE(20)]
  return end <= file.size && tailOf(file, start, end) === last.readUInt32LE(44)
}

const read = (
  fd: number,
  file: LogFile,
  from: { readonly position: number; readonly end: number },
  visit: (block: Block) => void,
): IndexReading => {
  let { end } = from
  let stopped: 'damaged' | 'torn' | undefined
  let latest: Buffer | undefined
  const records = readRecords(fd, from.position)
  for (let read = records.next(); ; read = records.next()) {
    if (read.done === true) {
      stopped = read.value
      break
    }
    const record = read.value
    const [start, next] = [record.readDoubleLE(12), record.readDoubleLE(20)]
    // Another process has appended the same block.
    if (start !== end) continue
    end = next
    latest = record
    const [first, last] = [record.readDoubleLE(28), record.readDoubleLE(36)]
    visit({ start, end, first, last, bloom: record.subarray(headerLength) })
  }
  const isTrue = isOf(file, latest)
  return { end: isTrue ? end : 0, damaged: !isTrue || stopped === 'damaged', torn: stopped === 'torn' }
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT'

/**
 * Reads the index of a file of the log at `logPath`. After damage, the blocks that were visited are sound unless
 * `end` is 0, and the index is removed. Throws the system's error.
 */
export const readIndex = (logPath: string, file: LogFile, visit: (block: Block) => void): IndexReading => {
  const path = pathOf(logPath, file)
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch (error) {
    if (isMissing(error)) return { end: 0, damaged: false, torn: false }
    throw error
  }
  try {
    const reading = read(fd, file, { position: 0, end: 0 }, visit)
    if (reading.damaged) rmSync(path, { force: true })
    return reading
  } finally {
    closeSync(fd)
  }
}

/** The most lines and the most bytes of a block. A file's last lines that make no block are searched without it. */
const blockLines = 1024
const blockBytes = 1024 * 1024

const lineFeed = 0x0a

/** The block that begins at `start`; undefined while the file has too few lines after it. */
const makeBlock = (file: LogFile, start: number, size: number): Block | undefined => {
  let length = blockBytes
  let bytes = readRange(file, start, Math.min(size, start + length))
  // A line may be longer than a block.
  while (!bytes.includes(lineFeed) && start + length < size)
    bytes = readRange(file, start, Math.min(size, start + (length *= 4)))
  const terms = new Set<string>()
  const add = (text: string): void => void terms.add(text)
  let [end, first, last] = [0, Infinity, -Infinity]
  let lines = 0
  for (let next = bytes.indexOf(lineFeed); next >= 0 && lines < blockLines; next = bytes.indexOf(lineFeed, end)) {
    const line = parseAuditLine(bytes.toString('utf8', end, next))
    end = next + 1
    lines++
    if (line === undefined) continue
    eachTerm(line, add)
    const at = timeOf(line['time'])
    if (at < first) first = at
    if (at > last) last = at
  }
  const isFull = lines === blockLines || start + bytes.length < size
  if (!isFull || end === 0) return undefined
  add('')
  return { start, end: start + end, first, last, bloom: createBloom(terms) }
}

/** Free bytes below which no index is written: the audit log needs them more. */
const reserve = 256 * 1024 * 1024

/**
 * Appends what the index of a file lacks. Each step makes one block and takes a few milliseconds; it ends with the
 * last whole block. Throws the system's error.
 */
export const extendIndex = function* (logPath: string, file: LogFile): Generator<void> {
  mkdirSync(indexFolder(logPath), { recursive: true, mode: 0o700 })
  const disk = createDiskSpace(dirname(logPath))
  const found = readIndex(logPath, file, () => undefined)
  if (found.torn) rmSync(pathOf(logPath, file), { force: true })
  const fd = openSync(pathOf(logPath, file), 'a+', 0o600)
  try {
    let position = fstatSync(fd).size
    let end = read(fd, file, { position: 0, end: 0 }, () => undefined).end
    for (;;) {
      const block = makeBlock(file, end, file.size)
      if (block === undefined || disk.free(1000) < reserve) return
      const { size } = fstatSync(fd)
      if (size === position) {
        const record = encode(file, block)
        position += writeSync(fd, record)
        end = block.end
      } else {
        // Another process was faster.
        const reading = read(fd, file, { position, end }, () => undefined)
        if (reading.damaged || reading.torn) return
        end = reading.end
        position = size
      }
      yield
    }
  } finally {
    closeSync(fd)
  }
}
