import type { JsonObject } from '../json.js'
import { RecentMap } from '../recent-map.js'
import { lineHash, lineStart, schemaVersion } from './audit-chain.js'

/** What is wrong with the lines of a writer, or with a line that belongs to none. */
export type AuditFaultKind = 'changed' | 'missing' | 'reordered' | 'repeated' | 'unchained'

/** The first fault of one writer. Lines are counted from 1 across all input. */
export interface AuditFault {
  readonly kind: AuditFaultKind
  /** The line where it was found. */
  readonly line: number
  /** Absent if the line names no writer. */
  readonly writer?: string
  readonly message: string
}

/** The chain of one process. */
export interface AuditWriter {
  readonly writer: string
  readonly pid: number
  readonly lines: number
  readonly first: number
  readonly last: number
  /** The hash of its last line. If noted elsewhere, it later shows whether lines after it were cut off. */
  readonly head: string
}

export interface AuditVerification {
  readonly lines: number
  readonly writers: readonly AuditWriter[]
  readonly faults: readonly AuditFault[]
  /**
   * Partial lines that a process left when it was killed or the disk was full. Not a fault, because no answer relied
   * on them.
   */
  readonly torn: readonly number[]
  /** Lines of versions without a chain, before the first chained line. */
  readonly unchained: number
  /** Of the requested heads, those that no line has. */
  readonly lostHeads: readonly string[]
}

/** The state of the chain before the first line of an extract. */
export interface AuditBefore {
  /** The writers that continue in the extract, or after it. */
  readonly writers: readonly AuditEnd[]
  /** The hashes of earlier lines that lines of the extract name. */
  readonly hashes: readonly string[]
}

/** The last line of a writer so far. */
export interface AuditEnd {
  readonly writer: string
  readonly pid: number
  readonly seq: number
  /** The hash of the line. */
  readonly head: string
}

export interface AuditVerifyOptions {
  /** Whether earlier lines may be in a file that was not given. */
  readonly partial?: boolean
  /**
   * The state of the chain before the first line. It is absent at the beginning of a log, and unknown with `partial`.
   */
  readonly before?: AuditBefore
  /** Hashes of lines that must exist. */
  readonly heads?: readonly string[]
}

interface Chain {
  readonly pid: number
  lines: number
  first: number
  sequence: number
  head: string
  /** The position of its last line. */
  line: number
  fault?: AuditFault
  /** What was missing at the fault. */
  missing?: { readonly from: number; readonly to: number }
}

/** What was found up to the line at hand. */
interface State {
  readonly partial: boolean
  /** By writer. */
  readonly chains: Map<string, Chain>
  /** The hashes of the last lines, the oldest first. */
  readonly recent: RecentMap<string, string>
  /** The requested heads that no line has had so far. */
  readonly lost: Set<string>
  readonly torn: number[]
  readonly strangers: AuditFault[]
  unchained: number
  /** The line at hand, counted across all files. */
  number: number
  fileNumber: number
  /** Lines of the file at hand that precede this one. */
  before: number
}

export interface Chained {
  readonly writer: string
  readonly seq: number
  readonly prev: string | null
  readonly pid: number
  /** Set in the first line of a writer on a stream, which does not know what came before. */
  readonly stream?: unknown
}

/** How many lines of other, quicker processes may come between a new writer's first line and the line that it names. */
export const namedWithin = 65_536
/** How many lines of others may precede the first line of a writer that found the file empty. */
const startEvents = 1000

export const isChained = (value: JsonObject): value is JsonObject & Chained =>
  Number(value['v']) >= schemaVersion &&
  typeof value['writer'] === 'string' &&
  Number.isSafeInteger(value['seq']) &&
  (value['prev'] === null || typeof value['prev'] === 'string')

export const parseAuditLine = (line: string): JsonObject | undefined => {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

const countOf = (from: number, to: number): string =>
  from === to ? `seq ${String(from)} is` : `seq ${String(from)} to ${String(to)} are`

/** What is wrong with the next line of a writer. */
const findFault = (chain: Chain, { writer, seq, prev }: Chained, line: number): AuditFault | undefined => {
  const fault = (kind: AuditFaultKind, message: string): AuditFault => ({ kind, line, writer, message })
  const known = chain.sequence
  if (seq > known + 1) {
    chain.missing = { from: known + 1, to: seq - 1 }
    return fault('missing', `${countOf(known + 1, seq - 1)} not between seq ${String(known)} and this line`)
  }
  if (seq === known) return fault('repeated', `seq ${String(seq)} comes again`)
  if (seq < known) return fault('reordered', `seq ${String(seq)} comes after seq ${String(known)}`)
  if (prev === chain.head) return undefined
  const last = chain.line === 0 ? 'the line before the first' : `line ${String(chain.line)}`
  return fault('changed', `${last} (seq ${String(known)}) does not match the hash in this line`)
}

const begin = (state: State, { writer, seq, prev, pid, stream }: Chained, hash: string): void => {
  const { chains, recent, partial, before, number: line } = state
  const chain: Chain = { pid, lines: 1, first: seq, sequence: seq, head: hash, line }
  chains.set(writer, chain)
  const fault = (kind: AuditFaultKind, message: string): AuditFault => ({ kind, line, writer, message })
  if (seq > 1) {
    if (partial) return
    chain.missing = { from: 1, to: seq - 1 }
    chain.fault = fault('missing', `${countOf(1, seq - 1)} not there`)
  } else if (
    prev === null
      ? stream !== true && before > startEvents
      : recent.get(prev) === undefined && !(partial && chains.size === 1)
  ) {
    chain.fault = fault(
      'missing',
      prev === null
        ? 'a writer starts a new chain although the log has earlier lines'
        : 'the line before it is missing',
    )
  }
}

/** The first line of a process in a file names the last line of the previous file, whichever writer that is from. */
const findGap = (state: State, { event, head, writer }: JsonObject): AuditFault | undefined => {
  const { recent, partial, fileNumber, number: line } = state
  if (event !== 'audit.continued' || typeof head !== 'string' || recent.get(head) !== undefined) return undefined
  // The predecessor of the oldest given file is elsewhere.
  if (partial && fileNumber === 1) return undefined
  const message = 'the last line of the file that this one continues is missing'
  return { kind: 'missing', line, ...(typeof writer === 'string' && { writer }), message }
}

const follow = (state: State, found: Chained, hash: string): void => {
  const { number } = state
  const chain = state.chains.get(found.writer)
  if (chain === undefined) return begin(state, found, hash)
  const { missing, fault } = chain
  if (fault === undefined) {
    const shown = findFault(chain, found, number)
    if (shown !== undefined) chain.fault = shown
  } else if (missing !== undefined && found.seq >= missing.from && found.seq <= missing.to) {
    // The missing line has appeared, but too late.
    chain.fault = { ...fault, kind: 'reordered', message: `seq ${String(found.seq)} comes in line ${String(number)}` }
  }
  chain.lines++
  chain.sequence = found.seq
  chain.head = hash
  chain.line = number
}

/** Tells whether it is a line of the operator's log, when both go to standard output. */
export const isOperatorsLine = (value: JsonObject): boolean => 'level' in value && !('event' in value)

const read = (state: State, line: string): void => {
  const { chains, number } = state
  const value = parseAuditLine(line)
  if (value !== undefined && isChained(value)) {
    const hash = lineHash(line)
    follow(state, value, hash)
    const gap = findGap(state, value)
    const chain = chains.get(value.writer)
    if (gap !== undefined && chain !== undefined) chain.fault ??= gap
    remember(state, hash)
    return
  }
  if (value !== undefined && isOperatorsLine(value)) return
  remember(state, lineHash(line))
  if (value === undefined && isBegun(line)) state.torn.push(number)
  else if (value !== undefined && chains.size === 0) state.unchained++
  else state.strangers.push({ kind: 'unchained', line: number, message: 'is not a line of this log' })
}

const remember = ({ lost, recent }: State, hash: string): void => {
  lost.delete(hash)
  recent.set(hash, hash)
}

/** The line, or its second part if another process continued where one had stopped in the middle of a line. */
export const wholePart = (line: string): string => {
  const second = line.indexOf(lineStart, 1)
  const isGlued = second > 0 && parseAuditLine(line) === undefined && parseAuditLine(line.slice(second)) !== undefined
  return isGlued ? line.slice(second) : line
}

const readWhole = (state: State, line: string): void => {
  const whole = wholePart(line)
  if (whole !== line) state.torn.push(state.number)
  read(state, whole)
}

/** Starts of lines: of this version, of the one before, and of the operator's log among them. */
const starts = [lineStart, '{"v":1,"seq":', '{"level":"']

const isBegun = (line: string): boolean =>
  starts.some((start) => (line.length < start.length ? start.startsWith(line) : line.startsWith(start)))

/**
 * Follows the chain of every writer through the lines of `files`, oldest first, as they are and without line feeds.
 * Reports only the first fault of each writer, since everything after it is affected.
 */
export const verifyAudit = async (
  files: Iterable<AsyncIterable<string>>,
  { partial = false, heads = [], before = { writers: [], hashes: [] } }: AuditVerifyOptions = {},
): Promise<AuditVerification> => {
  const state: State = {
    partial,
    chains: new Map(
      before.writers.map(({ writer, pid, seq, head }) => [
        writer,
        { pid, lines: 0, first: seq + 1, sequence: seq, head, line: 0 },
      ]),
    ),
    recent: new RecentMap(2 * namedWithin),
    lost: new Set(heads),
    torn: [],
    strangers: [],
    unchained: 0,
    number: 0,
    fileNumber: 0,
    before: 0,
  }
  for (const hash of [...before.hashes, ...before.writers.map(({ head }) => head)]) state.recent.set(hash, hash)
  for (const file of files) {
    state.before = 0
    state.fileNumber++
    for await (const line of file) {
      state.number++
      if (line === '') continue
      readWhole(state, line)
      state.before++
    }
  }
  const { chains, strangers, lost, torn, unchained, number: lines } = state
  const writers = [...chains].flatMap(([writer, { pid, lines: count, first, sequence: last, head }]) => {
    return count === 0 ? [] : [{ writer, pid, lines: count, first, last, head }]
  })
  const faults = [...[...chains.values()].flatMap(({ fault }) => fault ?? []), ...strangers.slice(0, 1)]
  faults.sort((left, right) => left.line - right.line)
  return { lines, writers, faults, torn, unchained, lostHeads: [...lost] }
}
