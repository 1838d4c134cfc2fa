import { hostname } from 'node:os'
import type { Clock } from '../clock.js'
import { sumFigures, type FigureCounts, type Figures, type ProcessFigures } from '../observe/figures.js'
import { newOpaqueToken } from '../opaque-token.js'
import type { RecordStore } from '../storage/ports.js'

/** The report of one process for the console. */
export interface FiguresReport extends ProcessFigures {
  readonly host: string
  readonly pid: number
  readonly version: string
  /** The hash of its configuration, by which replicas that differ are found. */
  readonly configuration: string
  /** The time of the report, in milliseconds since the epoch. */
  readonly reported_at: number
}

/** The figures of all processes together. */
export interface SharedFigures {
  readonly minutes: readonly Figures[]
  readonly quarters: readonly Figures[]
  /** The processes that have reported within the last minute. */
  readonly processes: readonly Pick<FiguresReport, 'host' | 'pid' | 'version' | 'configuration'>[]
}

const keptSeconds = 86_400
const liveMs = 60_000

/** Publishes the figures of this process under an id of its own, each time it is called. Throws `Unavailable`. */
export const createPublishFigures = (
  records: RecordStore<FiguresReport>,
  figures: FigureCounts,
  clock: Clock,
): ((about: Pick<FiguresReport, 'version' | 'configuration'>) => Promise<void>) => {
  const id = newOpaqueToken()
  return async (about) => {
    const report = { ...figures.read(), host: hostname(), pid: process.pid, reported_at: clock(), ...about }
    await records.put(id, report, { ttlSeconds: keptSeconds })
  }
}

/** Reads and adds the figures of all processes. Throws `Unavailable`. */
export const readSharedFigures = async (records: RecordStore<FiguresReport>, clock: Clock): Promise<SharedFigures> => {
  const reports: FiguresReport[] = []
  for (let page = await records.list(undefined, 100); page.length > 0; page = await records.list(page.at(-1)?.id, 100))
    reports.push(...page.map(({ record }) => record))
  return {
    minutes: sumFigures(reports.map(({ minutes }) => minutes)),
    quarters: sumFigures(reports.map(({ quarters }) => quarters)),
    processes: reports
      .filter(({ reported_at }) => reported_at > clock() - liveMs)
      .map(({ host, pid, version, configuration }) => ({ host, pid, version, configuration })),
  }
}
