import { lineHash } from '../../observe/audit-chain.js'
import type { JsonObject } from '../../json.js'
import { RecentMap } from '../../recent-map.js'
import {
  isChained,
  isOperatorsLine,
  namedWithin,
  parseAuditLine,
  wholePart,
  type AuditEnd,
  type Chained,
} from '../../observe/audit-verify.js'
import { readLines } from '../json-records.js'
import type { ChainProof } from './pack.js'

/** A line of the audit log, or what is left of one. */
export interface RangeLine {
  readonly text: string
  /** Absent for what is not JSON. */
  readonly value?: JsonObject
}

interface Place {
  readonly file: number
  /** Counted from 0 within its file. */
  readonly line: number
}

interface Range {
  readonly from: number
  readonly to: number
}

/** The log has changed between two readings of it. */
export class LogChanged extends Error {
  override readonly name = 'LogChanged'
}

const timeOf = (value: JsonObject | undefined): number => {
  const time = value?.['time']
  return typeof time === 'string' ? Date.parse(time) : NaN
}

const isPast = (left: Place, right: Place): boolean =>
  left.file > right.file || (left.file === right.file && left.line > right.line)

interface Bounds {
  /** The last line before the range, if no line is in it. */
  readonly cut?: Place
  readonly first?: Place
  readonly last?: Place
  /** The last line of the log that is JSON. A running service may be writing the next one. */
  readonly end?: Place
  readonly endText: string
}

/**
 * Finds the first and the last line of the range. All lines between them belong to the extract, whatever their times,
 * so that it is one piece of the log.
 */
const findBounds = async (files: readonly string[], { from, to }: Range): Promise<Bounds> => {
  let [cut, first, last, end]: (Place | undefined)[] = []
  let endText = ''
  for (const [file, name] of files.entries()) {
    let line = 0
    for await (const text of readLines(name)) {
      const place = { file, line: line++ }
      const value = parseAuditLine(wholePart(text))
      if (value === undefined) continue
      end = place
      endText = text
      const at = timeOf(value)
      if (at < from) cut = place
      if (!(at >= from && at < to)) continue
      first ??= place
      last = place
    }
  }
  return { endText, ...(end && { end }), ...(first && last ? { first, last } : cut && { cut }) }
}

type Position = 'before' | 'in' | 'after'

const positionOf = (place: Place, { cut, first, last }: Bounds): Position => {
  if (first === undefined || last === undefined) return cut === undefined || isPast(place, cut) ? 'after' : 'before'
  if (isPast(first, place)) return 'before'
  return isPast(place, last) ? 'after' : 'in'
}

/** The chains of the whole log, seen from an extract of it. */
class ChainCollector {
  readonly #ends = new Map<string, AuditEnd>()
  readonly #before = new Map<string, AuditEnd>()
  readonly #seen = new Set<string>()
  readonly #after = new Map<string, ChainProof['after'][number]>()
  /** The hashes of the last lines, the oldest first, and whether each is in the extract. */
  readonly #recent = new RecentMap<string, 'inside' | 'outside'>(2 * namedWithin)
  readonly #earlier = new Set<string>()
  readonly #named = new Set<string>()

  add(text: string, value: JsonObject | undefined, position: Position): void {
    const whole = wholePart(text)
    const hash = lineHash(whole)
    if (value !== undefined && isChained(value)) this.#follow(value, hash, position)
    this.#recent.set(hash, position === 'in' ? 'inside' : 'outside')
  }

  #follow(line: JsonObject & Chained, head: string, position: Position): void {
    const { writer, pid, seq, prev } = line
    if (!this.#ends.has(writer)) this.#name(prev, position)
    if (line['event'] === 'audit.continued') this.#name(line['head'], position)
    const end = { writer, pid, seq, head }
    this.#ends.set(writer, end)
    if (position === 'before') this.#before.set(writer, end)
    else if (position === 'in') this.#seen.add(writer)
    else if ((this.#before.has(writer) || this.#seen.has(writer)) && !this.#after.has(writer))
      this.#after.set(writer, { writer, pid, seq, prev })
  }

  /** A line names one of another writer. */
  #name(hash: unknown, position: Position): void {
    if (typeof hash !== 'string') return
    const place = this.#recent.get(hash)
    if (position === 'in' && place === 'outside') this.#earlier.add(hash)
    if (position === 'after' && place === 'inside') this.#named.add(hash)
  }

  proof(lines: number, files: readonly number[]): ChainProof {
    const continuing = [...this.#before.values()].filter(
      ({ writer }) => this.#seen.has(writer) || this.#after.has(writer),
    )
    return {
      lines,
      files,
      before: { writers: continuing, hashes: [...this.#earlier] },
      after: [...this.#after.values()],
      named: [...this.#named],
      heads: [...this.#ends.values()].map(({ writer, seq, head }) => ({ writer, seq, head })),
    }
  }
}

/**
 * Calls `take` for each line of the range, in the order of the log, and returns the proof of their chain. Reads the
 * files twice, oldest first, up to where the first reading ended. Throws `LogChanged`, `RecordsUnreadable`, or the
 * system's error.
 */
export const extractRange = async (
  files: readonly string[],
  range: Range,
  take: (line: RangeLine) => void | Promise<void>,
): Promise<ChainProof> => {
  const bounds = await findBounds(files, range)
  const collector = new ChainCollector()
  const starts: number[] = []
  let [lines, reached] = [0, '']
  for (const [file, name] of files.entries()) {
    starts.push(lines)
    let line = 0
    for await (const text of readLines(name)) {
      const place = { file, line: line++ }
      if (bounds.end === undefined || isPast(place, bounds.end)) break
      reached = text
      const value = parseAuditLine(wholePart(text))
      if (text === '' || (value !== undefined && isOperatorsLine(value))) continue
      const position = positionOf(place, bounds)
      collector.add(text, value, position)
      if (position !== 'in') continue
      lines++
      const taken = take({ text, ...(value !== undefined && { value }) })
      if (taken !== undefined) await taken
    }
  }
  if (reached !== bounds.endText)
    throw new LogChanged('The audit log was rotated while it was read. Repeat the command.')
  return collector.proof(lines, starts)
}
