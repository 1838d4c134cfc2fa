import type { Clock } from '../../clock.js'
import { RecentMap } from '../../recent-map.js'

interface Failures {
  inARow: number
  restsUntil: number
}

/** Consecutive failures after which a host is avoided for a while. */
const mostInARow = 3
const restMs = 10_000
const maxHosts = 10_000

/** Hosts that failed recently. Further attempts fail at once, so that thousands need not wait for a deadline each. */
export interface FailingHosts {
  rests(host: string): boolean
  /** Whether the last attempt failed. */
  isFailing(host: string): boolean
  record(host: string, delivered: boolean): void
}

export const createFailingHosts = (clock: Clock): FailingHosts => {
  const hosts = new RecentMap<string, Failures>(maxHosts)
  return {
    rests(host) {
      const left = (hosts.get(host)?.restsUntil ?? -Infinity) - clock()
      // Setting the clock back must not extend a lifetime.
      return left > 0 && left <= restMs
    },
    isFailing: (host) => hosts.get(host) !== undefined,
    record(host, delivered) {
      if (delivered) return void hosts.delete(host)
      const failures = hosts.get(host) ?? { inARow: 0, restsUntil: -Infinity }
      failures.inARow++
      if (failures.inARow >= mostInARow) failures.restsUntil = clock() + restMs
      hosts.set(host, failures)
    },
  }
}
