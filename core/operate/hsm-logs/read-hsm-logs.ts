import { isoTime } from '../../clock.js'
import { RecordsUnreadable } from '../json-records.js'
import { cloudhsm } from './cloudhsm.js'
import type { HsmEvent, HsmLogFormat } from './hsm-event.js'
import { luna, lunaCloud } from './luna.js'
import { softhsm } from './softhsm.js'

export const hsmLogFormats = { luna, 'luna-cloud': lunaCloud, cloudhsm, softhsm } as const satisfies Readonly<
  Record<string, HsmLogFormat>
>

export type HsmLogFormatName = keyof typeof hsmLogFormats

export const isHsmLogFormat = (name: string): name is HsmLogFormatName => Object.hasOwn(hsmLogFormats, name)

/** A file, and what is in it. */
export interface HsmLogFile {
  readonly format: HsmLogFormatName
  readonly file: string
}

/** The count of an operation with one result. */
export interface HsmOperationCount {
  readonly operation: string
  readonly result: string
  readonly count: number
  readonly first: string
  readonly last: string
}

/** The summary of the logs of one format for a range. */
export interface HsmLogSummary {
  readonly format: HsmLogFormatName
  readonly source: string
  readonly files: number
  readonly events: number
  /** Events at other times. */
  readonly outside: number
  /** Lines that are no events: a line that was cut off, or of another program. */
  readonly unread: number
  /** Absent where the log does not say. */
  readonly signatures?: number
  readonly uncounted?: string
  readonly operations: readonly HsmOperationCount[]
  /** Numbers that are missing within the events of a log. */
  readonly gaps: readonly { readonly log: string; readonly after: number; readonly before: number }[]
}

export interface TimeRange {
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly until: number
}

/** Different messages and results that are told apart. */
const maxKinds = 1000

class Summary {
  readonly #kinds = new Map<string, HsmOperationCount>()
  readonly #numbers = new Map<string, number>()
  readonly gaps: HsmLogSummary['gaps'][number][] = []
  events = 0
  outside = 0
  unread = 0
  signatures = 0

  add({ at, operation, result, signatures, sequence }: HsmEvent, { from, until }: TimeRange): boolean {
    // A number before the range shows whether the first ones of the range are there.
    if (sequence !== undefined) this.#follow(sequence)
    if (!(at >= from && at < until)) {
      this.outside++
      return false
    }
    this.events++
    this.signatures += signatures
    const time = isoTime(at)
    const name = JSON.stringify([operation, result])
    const kind = this.#kinds.has(name) || this.#kinds.size < maxKinds ? name : JSON.stringify(['others', ''])
    const before = this.#kinds.get(kind) ?? { operation, result, count: 0, first: time, last: time }
    this.#kinds.set(kind, {
      ...(kind === name ? before : { ...before, operation: 'others', result: '' }),
      count: before.count + 1,
      first: time < before.first ? time : before.first,
      last: time > before.last ? time : before.last,
    })
    return signatures > 0
  }

  #follow({ log, number }: NonNullable<HsmEvent['sequence']>): void {
    const known = this.#numbers.get(log)
    if (known !== undefined && number > known + 1 && this.gaps.length < maxKinds)
      this.gaps.push({ log, after: known, before: number })
    if (known === undefined || number > known) this.#numbers.set(log, number)
  }

  operations(): readonly HsmOperationCount[] {
    return [...this.#kinds.values()].toSorted((left, right) => right.count - left.count)
  }
}

/**
 * Reads the logs of HSMs, one summary for each format. `signed` is called with the time of each signature in the
 * range. Throws `RecordsUnreadable` for a file without any event of its format, or the system's error.
 */
export const readHsmLogs = async (
  files: readonly HsmLogFile[],
  range: TimeRange,
  signed: (format: HsmLogFormatName, at: number) => void = () => {},
): Promise<readonly HsmLogSummary[]> => {
  const found: HsmLogSummary[] = []
  for (const format of new Set(files.map(({ format: name }) => name))) {
    const summary = new Summary()
    const own = files.filter((one) => one.format === format)
    const { source, uncounted, read }: HsmLogFormat = hsmLogFormats[format]
    for (const { file } of own) {
      const before = summary.events + summary.outside
      for await (const event of read(file))
        if (event === undefined) summary.unread++
        else if (summary.add(event, range)) signed(format, event.at)
      if (summary.events + summary.outside === before)
        throw new RecordsUnreadable(`${file}: has no event of the format ${format}`)
    }
    const { events, outside, unread, signatures, gaps } = summary
    found.push({
      ...{ format, source, files: own.length, events, outside, unread },
      ...(uncounted === undefined ? { signatures } : { uncounted }),
      ...{ operations: summary.operations(), gaps },
    })
  }
  return found
}
