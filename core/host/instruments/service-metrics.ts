import { createHash, X509Certificate } from 'node:crypto'
import type { Config } from '../../../config/schema.js'
import { certificatesOf } from '../../checks/config-changes.js'
import type { RateLimits } from '../../endpoints/rate-limits.js'
import type { Refusals } from '../../endpoints/refusals.js'
import type { RequestObserver } from '../../http/request-log.js'
import type { LoadShedding } from '../../http/shed-load.js'
import { Counts, DurationsBy } from '../../observe/counts.js'
import type { Readiness } from '../../observe/health.js'
import type { Metrics } from '../../observe/metrics.js'
import { packageVersion } from '../../package-root.js'

/** Counts the answers of a listener. Returns the function to call for each answer. */
export const observeRequests = (metrics: Pick<Metrics, 'observe'>): RequestObserver => {
  const requests = new Counts('endpoint', 'status', 'error')
  const durations = new DurationsBy('endpoint', 'status')
  metrics.observe({
    type: 'counter',
    name: 'signet_http_requests_total',
    help: 'Responses of the public listener.',
    labels: ['endpoint', 'status', 'error'],
    read: requests.read,
  })
  metrics.observe({
    type: 'histogram',
    name: 'signet_http_request_duration_seconds',
    help: 'Time from the headers of the request to the end of the response.',
    labels: ['endpoint', 'status'],
    read: durations.read,
  })
  const outages = new Counts('component')
  metrics.observe({
    type: 'counter',
    name: 'signet_outages_total',
    help: 'Requests that an outage failed, by the component: a store, a signer, or what a plugin names.',
    labels: ['component'],
    read: outages.read,
  })
  return ({ endpoint = 'other', status, error = 'none', milliseconds, outage }) => {
    if (outage !== undefined) outages.of(outage).value++
    requests.of(endpoint, String(status), error).value++
    durations.of(endpoint, status === 'aborted' ? status : `${String(status).slice(0, 1)}xx`).add(milliseconds)
  }
}

/** Reports the same state as `/health/ready`. */
export const observeReadiness = (metrics: Pick<Metrics, 'observe'>, { report }: Pick<Readiness, 'report'>): void => {
  metrics.observe({
    type: 'gauge',
    name: 'signet_ready',
    help: '1 while this process is ready for requests.',
    labels: [],
    read: () => [{ labels: {}, value: Number(report().ready) }],
  })
  metrics.observe({
    type: 'gauge',
    name: 'signet_component_up',
    help: '1 for each working component.',
    labels: ['component'],
    read: () =>
      Object.entries(report().components).map(([component, { status }]) => ({
        labels: { component },
        value: Number(status === 'up'),
      })),
  })
}

/** Reports when the listener certificates of the current configuration expire. */
export const observeCertificates = (metrics: Pick<Metrics, 'observe'>, config: () => Config): void => {
  /** The expiry is cached by the text of the certificate. A listener has three at most. */
  const ends = new Map<string, number>()
  const endOf = (cert: string): number => {
    const known = ends.get(cert)
    if (known !== undefined) return known
    const end = Math.floor(Date.parse(new X509Certificate(cert).validTo) / 1000)
    if (ends.size > 3) ends.clear()
    ends.set(cert, end)
    return end
  }
  metrics.observe({
    type: 'gauge',
    name: 'signet_certificate_not_after_seconds',
    help: 'When the certificate of a listener ends: seconds since the epoch.',
    labels: ['listener'],
    read: () =>
      Object.entries(certificatesOf(config())).flatMap(([listener, tls]) =>
        tls === undefined ? [] : [{ labels: { listener }, value: endOf(tls.cert) }],
      ),
  })
}

/** Counts the requests that exceed a limit. */
export const observeRateLimits = (metrics: Pick<Metrics, 'observe'>, { hits }: RateLimits): void =>
  metrics.observe({
    type: 'counter',
    name: 'signet_rate_limit_hits_total',
    help: 'Requests refused by a rate limit.',
    labels: ['limit'],
    read: hits.read,
  })

/** Reports refusals that have no line of their own in the audit log. */
export const observeRefusals = (metrics: Pick<Metrics, 'observe'>, { dropped }: Refusals): void =>
  metrics.observe({
    type: 'counter',
    name: 'signet_audit_dropped_total',
    help: 'Refusals of unauthenticated callers that were not written to the audit log.',
    labels: [],
    read: dropped.read,
  })

/** Returns the function to call for each certificate in a header that did not come from a trusted proxy. */
export const observeIgnoredCertificates = (metrics: Pick<Metrics, 'observe'>): (() => void) => {
  let value = 0
  metrics.observe({
    type: 'counter',
    name: 'signet_client_certificates_ignored_total',
    help: 'Client certificates in a header that no trusted proxy sent.',
    labels: [],
    read: () => [{ labels: {}, value }],
  })
  return () => void value++
}

/** Turns requests away while the event loop is late, and counts them. */
export const observeShedding = (metrics: Pick<Metrics, 'observe'>, lag: LoadShedding['lag']): LoadShedding => {
  let value = 0
  metrics.observe({
    type: 'counter',
    name: 'signet_http_shed_total',
    help: 'Requests rejected because the event loop was late.',
    labels: [],
    read: () => [{ labels: {}, value }],
  })
  return { lag, shed: () => void value++ }
}

/**
 * Hashes the configuration as it was read, in which secrets are masked. The listeners and logs may differ between
 * processes, so they are left out.
 */
export const hashOf = ({ listen: _listen, admin: _admin, audit: _audit, ...shared }: Config): string =>
  createHash('sha256').update(JSON.stringify(shared)).digest('hex').slice(0, 16)

/** Reports which version runs with which configuration, so that replicas that differ stand out. */
export const observeDeployment = (metrics: Pick<Metrics, 'observe'>, config: () => Config): void => {
  const info = { version: packageVersion, node: process.version }
  metrics.observe({
    type: 'gauge',
    name: 'signet_info',
    help: '1, with the version of Signet and of Node.',
    labels: ['version', 'node'],
    read: () => [{ labels: info, value: 1 }],
  })
  let read: Config | undefined
  let hash = ''
  metrics.observe({
    type: 'gauge',
    name: 'signet_configuration_info',
    help: '1, with a hash of the configuration in force.',
    labels: ['hash'],
    read: () => {
      if (read !== config()) hash = hashOf((read = config()))
      return [{ labels: { hash }, value: 1 }]
    },
  })
}

/** Reports whether the key log, where there is one, has all that became of the keys. */
export const observeKeyLog = (
  metrics: Pick<Metrics, 'observe'>,
  keyLog: { readonly behindSeconds: () => number } | undefined,
): void => {
  metrics.observe({
    type: 'gauge',
    name: 'signet_key_log_behind_seconds',
    help: 'Seconds for which the key log could not be written or signed; 0 while it is complete.',
    labels: [],
    read: () => (keyLog === undefined ? [] : [{ labels: {}, value: keyLog.behindSeconds() }]),
  })
}
