import type { JsonObject } from '../../json.js'
import { parseAuditLine, wholePart } from '../audit-verify.js'
import { hashText, mayHave } from './bloom.js'
import { readIndex, type Block } from './index-file.js'
import { openLogFiles, readRange, wholeEnd, type LogFile } from './log-files.js'
import { matches, needlesOf, termsOf, type AuditFilter } from './terms.js'

/** The position at which a search continues: with the lines that end at or before `offset`, then with older files. */
export interface AuditPosition {
  /** `LogFile.id` and `LogFile.began`. */
  readonly file: string
  readonly began: number
  readonly offset: number
}

export interface AuditSearch {
  /** The path of the log. */
  readonly path: string
  readonly filter: AuditFilter
  readonly limit: number
  /** Absent: the newest line is the first. */
  readonly from?: AuditPosition
  /** Milliseconds after which the search stops with what it has. */
  readonly budgetMs: number
}

export interface AuditPage {
  /** The newest first. */
  readonly lines: readonly JsonObject[]
  /** Absent: there are no more lines. */
  readonly next?: AuditPosition
  /** Names of files that were not searched, because they are compressed. */
  readonly notSearched: readonly string[]
  /** Some lines are not in the index yet. */
  readonly indexBehind: boolean
}

/** Bytes of a file that are read at once. */
const windowLength = 1024 * 1024
/** Longer lines are skipped, as no event has so many members. */
const maxLine = 4 * 1024 * 1024

const lineFeed = 0x0a

interface Found {
  readonly line: JsonObject
  /** The offset of the line in its file. */
  readonly start: number
}

/** Finds lines of one search. */
const createFinder = (filter: AuditFilter) => {
  const alternatives = termsOf(filter).map((terms) => terms.map(hashText))
  const [first, ...others] = needlesOf(filter).map((text) => Buffer.from(text))
  const { since = -Infinity, until = Infinity } = filter

  const read = (bytes: Buffer): JsonObject | undefined => {
    if (!others.every((needle) => bytes.includes(needle))) return undefined
    const line = parseAuditLine(wholePart(bytes.toString('utf8')))
    return line !== undefined && matches(filter, line) ? line : undefined
  }

  return {
    mayBeIn: ({ first: begun, last, bloom }: Block): boolean =>
      begun < until &&
      last >= since &&
      (alternatives.length === 0 || alternatives.some((terms) => terms.every((hashes) => mayHave(bloom, hashes)))),

    /** The lines in whole lines of a file, the last first. `start` is where they begin in it. */
    *linesIn(bytes: Buffer, start: number): Generator<Found> {
      let end = bytes.length
      while (end > 0) {
        // The last byte before `end` is the line feed of the line.
        const at = first === undefined ? end - 1 : bytes.subarray(0, end).lastIndexOf(first)
        if (at < 0) return
        const from = bytes.subarray(0, at).lastIndexOf(lineFeed) + 1
        const line = read(bytes.subarray(from, bytes.indexOf(lineFeed, at)))
        if (line !== undefined) yield { line, start: start + from }
        end = from
      }
    },
  }
}

type Finder = ReturnType<typeof createFinder>

/** Parts of a file, the last first, that may have lines of the search. */
const partsOf = (path: string, file: LogFile, upTo: number, finder: Finder) => {
  const blocks: { readonly start: number; readonly end: number }[] = []
  const index = readIndex(path, file, (block) => {
    if (block.start >= upTo || !finder.mayBeIn(block)) return
    const [start, end] = [block.start, Math.min(block.end, upTo)]
    const last = blocks.at(-1)
    if (last?.end === start && end - last.start <= windowLength) blocks[blocks.length - 1] = { start: last.start, end }
    else blocks.push({ start, end })
  })
  if (index.end === 0) blocks.length = 0
  const end = wholeEnd(file, Math.min(index.end, upTo), upTo)
  return { parts: [...blocks, { start: Math.min(index.end, end), end }], unindexed: end - index.end }
}

/** Whole lines of a part of a file, in windows, the last first. */
const windowsOf = function* (file: LogFile, { start, end }: { readonly start: number; readonly end: number }) {
  let upTo = end
  let length = windowLength
  while (upTo > start) {
    const from = Math.max(start, upTo - length)
    const bytes = readRange(file, from, upTo)
    // The first line of the window may begin before it.
    const begin = from === start ? 0 : bytes.indexOf(lineFeed) + 1
    if (begin >= bytes.length && from > start && length < maxLine) {
      length *= 2
      continue
    }
    if (begin < bytes.length) yield { bytes: bytes.subarray(begin), start: from + begin }
    // A line that is too long is skipped in pieces.
    upTo = begin < bytes.length || from === start ? from + begin : from
    if (from === start) return
    length = windowLength
  }
}

/** The files of a search, from the position where it continues. */
const filesFrom = (files: readonly LogFile[], from: AuditPosition | undefined): readonly LogFile[] => {
  if (from === undefined) return files
  const at = files.findIndex(({ id }) => id === from.file)
  return at >= 0 ? files.slice(at) : files.filter(({ began }) => began < from.began)
}

/** Lines that are too few for the index to be behind. */
const smallBytes = 2 * 1024 * 1024

/**
 * Searches the audit log, the newest lines first. Every line that is returned was read from the log; the index only
 * says where to look. Throws the system's error.
 */
export const searchLog = ({ path, filter, limit, from, budgetMs }: AuditSearch): AuditPage => {
  const deadline = performance.now() + budgetMs
  using opened = openLogFiles(path)
  const finder = createFinder(filter)
  const lines: JsonObject[] = []
  let indexBehind = false
  const pageTo = (next?: AuditPosition): AuditPage => ({
    ...{ lines, notSearched: opened.compressed, indexBehind },
    ...(next !== undefined && { next }),
  })
  for (const file of filesFrom(opened.files, from)) {
    const { id, began, size } = file
    const at = (offset: number): AuditPosition => ({ file: id, began, offset })
    const { parts, unindexed } = partsOf(path, file, from?.file === id ? Math.min(from.offset, size) : size, finder)
    if (unindexed > smallBytes) indexBehind = true
    for (const part of parts.toReversed())
      for (const { bytes, start } of windowsOf(file, part)) {
        for (const found of finder.linesIn(bytes, start)) {
          lines.push(found.line)
          if (lines.length === limit) return pageTo(at(found.start))
        }
        if (performance.now() > deadline) return pageTo(at(start))
      }
  }
  return pageTo()
}
