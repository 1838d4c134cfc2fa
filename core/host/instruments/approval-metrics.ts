import type { Clock } from '../../clock.js'
import type { ApprovalRecord } from '../../operators/approval.js'
import type { Log } from '../../observe/log.js'
import type { Metrics } from '../../observe/metrics.js'
import type { RecordStore } from '../../storage/ports.js'
import { gauge } from './key-metrics.js'

const pageSize = 100
const dayMs = 86_400_000

/**
 * Reports actions that were carried out without approvals within the last day. A command does that in a process of its
 * own, so a service finds out by looking. Returns what looks; it throws `Unavailable`.
 */
export const observeBrokenGlass = (
  metrics: Pick<Metrics, 'observe'>,
  approvals: Pick<RecordStore<ApprovalRecord>, 'list'>,
  { log, clock }: { readonly log: Pick<Log, 'warn'>; readonly clock: Clock },
): (() => Promise<void>) => {
  let known: ReadonlySet<string> = new Set()
  metrics.observe(
    gauge(
      'signet_approvals_broken_glass',
      'Actions of the last day that break glass carried out without approvals.',
      [],
      () => [{ labels: {}, value: known.size }],
    ),
  )
  return async () => {
    const found = new Set<string>()
    const since = clock() - dayMs
    let page = await approvals.list(undefined, pageSize)
    while (page.length > 0) {
      for (const { id, record } of page) if ((record.brokenGlassAt ?? 0) > since) found.add(id)
      page = page.length < pageSize ? [] : await approvals.list(page.at(-1)?.id, pageSize)
    }
    for (const id of found)
      if (!known.has(id)) log.warn('Break glass carried an action out without approvals', { approval: id })
    known = found
  }
}
