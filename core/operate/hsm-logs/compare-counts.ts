import { isoTime } from '../../clock.js'
import { readHsmLogs, type HsmLogFile, type HsmLogSummary, type TimeRange } from './read-hsm-logs.js'
import { readJsonLines } from '../json-records.js'
import { signaturesOf } from '../count-signatures.js'

/** A period in which the two logs have different numbers of signatures. */
export interface HourDifference {
  /** When the hour begins. */
  readonly hour: string
  readonly logged: number
  readonly recorded: number
}

/** The counts of an HSM's log beside those of our audit log. */
export interface CountComparison {
  /** Signatures of the HSM's log. */
  readonly logged: number
  /** Signatures of our audit log by the same signers, with probes. */
  readonly recorded: number
  /** The signers that were counted. Absent: all. */
  readonly signers?: readonly string[]
  readonly hours: readonly HourDifference[]
}

export interface HsmReconciliation {
  readonly logs: readonly HsmLogSummary[]
  /** Absent when no log counts signatures. */
  readonly counts?: CountComparison
}

const hourMs = 3_600_000
const hourOf = (at: number): number => Math.floor(at / hourMs) * hourMs

/**
 * Compares how many signatures the logs of HSMs have with how many our audit log has of these signers, hour by hour:
 * none of these logs says what was signed. Throws `RecordsUnreadable`, or the system's error.
 */
export const compareHsmLogs = async (
  files: readonly HsmLogFile[],
  audit: readonly string[],
  signers: readonly string[] | undefined,
  range: TimeRange,
): Promise<HsmReconciliation> => {
  const logged = new Map<number, number>()
  const add = (hours: Map<number, number>, at: number): void => {
    const hour = hourOf(at)
    hours.set(hour, (hours.get(hour) ?? 0) + 1)
  }
  const logs = await readHsmLogs(files, range, (_format, at) => add(logged, at))
  if (!logs.some(({ signatures }) => signatures !== undefined)) return { logs }
  const recorded = new Map<number, number>()
  const own = signers && new Set(signers)
  for (const file of audit)
    for await (const line of readJsonLines(file)) {
      const { time } = line
      const at = typeof time === 'string' ? Date.parse(time) : NaN
      if (!(at >= range.from && at < range.until)) continue
      for (const { signer } of signaturesOf(line)) if (own?.has(signer) !== false) add(recorded, at)
    }
  const sum = (hours: ReadonlyMap<number, number>): number => [...hours.values()].reduce((total, one) => total + one, 0)
  const hours = [...new Set([...logged.keys(), ...recorded.keys()])].toSorted((left, right) => left - right)
  const differing = hours.flatMap((hour) => {
    const [inLog, inAudit] = [logged.get(hour) ?? 0, recorded.get(hour) ?? 0]
    return inLog === inAudit ? [] : [{ hour: isoTime(hour), logged: inLog, recorded: inAudit }]
  })
  return {
    logs,
    counts: { logged: sum(logged), recorded: sum(recorded), ...(signers && { signers }), hours: differing },
  }
}
