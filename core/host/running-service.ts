import type { RunningService } from '../admin-api/running-service.js'
import { collections } from '../collections/collections.js'
import { createPublishFigures, readSharedFigures } from '../collections/shared-figures.js'
import type { Readiness } from '../observe/health.js'
import { metricsOf } from '../observe/metrics.js'
import { packageVersion } from '../package-root.js'
import type { Generation } from './generation.js'
import { observeBrokenGlass } from './instruments/approval-metrics.js'
import { hashOf } from './instruments/service-metrics.js'
import type { HostProcess } from './process.js'

export interface RunningParts extends Pick<RunningService, 'secondFactors' | 'reload' | 'refusedReload'> {
  readonly process: HostProcess
  readonly current: () => Generation
  readonly readiness: Pick<Readiness, 'report'>
}

/** Returns what operators see and do of a service that runs. */
export const createRunningService = (parts: RunningParts): RunningService => {
  const { process, current, readiness, secondFactors, reload, refusedReload } = parts
  const { clock, log, stores } = process
  const records = collections(stores).figures
  const publish = createPublishFigures(records, process.figures, clock)
  const lookForBrokenGlass = observeBrokenGlass(
    metricsOf(current().checked.config.issuer, process.metrics),
    collections(stores).approvals,
    { log, clock },
  )
  return {
    ...{ secondFactors, reload, refusedReload },
    keys: () => current().ring.report(),
    prove: (signal, signer) => current().ring.probe(signal, signer),
    readiness: () => readiness.report(),
    figures: () => readSharedFigures(records, clock),
    async publishFigures() {
      const about = { version: packageVersion, configuration: hashOf(current().checked.config) }
      await Promise.all([publish(about), lookForBrokenGlass()]).catch((error: unknown) =>
        log.debug('The figures for the console were not published', { reason: String(error) }),
      )
    },
    shares: () => Object.fromEntries(Object.entries(stores.shares).map(([name, share]) => [name, share.read()])),
  }
}
