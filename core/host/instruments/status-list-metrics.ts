import type { StatusLists } from '../../collections/status-lists.js'
import type { Metrics } from '../../observe/metrics.js'

/** Observes the status lists of this process, if there are any. */
export const observeStatusLists = (metrics: Pick<Metrics, 'observe'>, statusLists: StatusLists | undefined): void => {
  if (statusLists === undefined) return
  const { here, builds } = statusLists
  const gauge = (name: string, help: string, member: 'lists' | 'revoked'): void =>
    metrics.observe({
      type: 'gauge',
      name,
      help,
      labels: [],
      read: () => [{ labels: {}, value: here.count()[member] }],
    })
  gauge('signet_status_lists', 'Status lists that this process serves.', 'lists')
  gauge(
    'signet_status_list_revoked_entries',
    'Revoked entries of the status lists that this process serves.',
    'revoked',
  )
  metrics.observe({
    type: 'histogram',
    name: 'signet_status_list_build_duration_seconds',
    help: 'Time to compress and sign a status list.',
    labels: [],
    read: () => [{ labels: {}, durations: builds }],
  })
}
