import type { Config } from '../../config/schema.js'
import type { Disposables } from '../disposables.js'
import type { Clock } from '../clock.js'
import { collections } from '../collections/collections.js'
import { proveStores } from '../collections/prove-stores.js'
import { observeQuotas, openQuotas } from '../collections/quotas.js'
import { openStores, type Stores } from '../collections/stores.js'
import type { TraceContexts } from '../http/carry-trace.js'
import { createClientUses, type NoteClientUse } from '../oauth/clients/client-uses.js'
import { observeAudit } from '../observe/audit-counts.js'
import { openAudit } from '../observe/audit-file.js'
import type { AuditFile } from '../observe/audit-log.js'
import type { AuditLog } from '../observe/audit.js'
import type { Log } from '../observe/log.js'
import { createFigures, type FigureCounts } from '../observe/figures.js'
import { LoopLag } from '../observe/loop-lag.js'
import { createMetrics, metricsOf, type Metrics } from '../observe/metrics.js'
import { observeProcess } from '../observe/process-metrics.js'
import { findTracing, type Tracing } from '../observe/tracing.js'
import { watchStores } from './instruments/watched-stores.js'

/** Test doubles that stand between the core and its stores or its audit log. */
export interface Doubles {
  readonly stores?: (sound: Stores) => Stores
  readonly audit?: (sound: AuditLog) => AuditLog
}

export interface ProcessOptions {
  readonly clock: Clock
  /** Milliseconds that only pass, whatever the clock shows. Absent: those of the system. */
  readonly monotonic?: () => number
  readonly log: Log
  readonly doubles?: Doubles
}

/** The parts that a process opens once, for every issuer that it serves. */
export interface HostProcess {
  readonly clock: Clock
  readonly monotonic: () => number
  readonly log: Log
  readonly metrics: Metrics
  readonly tracing: Tracing | undefined
  readonly traces: TraceContexts
  /** The file itself, for its checks and its rotation. Events go to `audit`. */
  readonly auditFile: Pick<AuditFile, 'check' | 'hasRoom' | 'reopen'>
  readonly audit: AuditLog
  readonly stores: Stores & Required<Pick<Stores, 'shares'>>
  readonly lag: LoopLag
  /** The figures of this process for the console. */
  readonly figures: FigureCounts
}

/**
 * Opens the audit log and the stores, checks that the stores keep their guarantees, and starts the metrics. What it
 * opens is added to `cleanUp`. Throws `Unavailable`, `ConfigurationError` for a store that cannot be used, or the
 * system's error.
 */
export const openProcess = async (
  config: Config,
  { clock, monotonic = () => performance.now(), log, doubles }: ProcessOptions,
  disposables: Disposables,
): Promise<HostProcess> => {
  const tracing = await findTracing()
  const metrics = createMetrics()
  const traces: TraceContexts = new Map()
  disposables.add(observeProcess(metrics))
  const observed = observeAudit(metricsOf(config.issuer, metrics))
  const figures = createFigures(clock)
  /** Set as soon as there is a store to write to. */
  const uses: { note?: NoteClientUse } = {}
  const auditFile = disposables.keep(
    await openAudit(config, clock, {
      recorded(event) {
        observed(event)
        figures.event(event)
        uses.note?.(event)
      },
      traces,
    }),
  )
  const audit = doubles?.audit?.(auditFile) ?? auditFile
  const opened = disposables.keep(await openStores(config, clock))
  const watched = watchStores(doubles?.stores?.(opened) ?? opened, metrics, tracing)
  uses.note = createClientUses(collections(watched).clientUses, clock)
  const { shares } = disposables.keep(openQuotas(watched, clock))
  observeQuotas(metrics, shares)
  await proveStores(config, opened, clock)
  const lag = new LoopLag()
  disposables.add(() => lag[Symbol.dispose]())
  const both = { ...watched, shares }
  return { clock, monotonic, log, metrics, tracing, traces, auditFile, audit, stores: both, lag, figures }
}
