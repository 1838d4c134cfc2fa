import type { Clock } from '../../clock.js'
import { RecentMap } from '../../recent-map.js'

interface Failures {
  inARow: number
  restsUntil: number
}

/** After so many failures in a row a host rests. */
const mostInARow = 3
const restMs = 10_000
const maxHosts = 10_000

/** Which hosts have failed just now: for them an attempt fails at once, so that thousands need not wait for a deadline each. */
export interface FailingHosts {
  rests(host: string): boolean
  /** Has the last attempt failed? */
  isFailing(host: string): boolean
  record(host: string, delivered: boolean): void
}

export const createFailingHosts = (clock: Clock): FailingHosts => {
  const hosts = new RecentMap<string, Failures>(maxHosts)
  return {
    rests(host) {
      const left = (hosts.get(host)?.restsUntil ?? -Infinity) - clock()
      // A clock that was set back makes nothing last longer.
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
