import type { Clock } from '../../clock.js'
import { RecentMap } from '../../recent-map.js'

interface Failures {
  consecutive: number
  cooldownUntil: number
}

/** Consecutive failures after which a host is avoided for a while. */
const maxConsecutive = 3
const cooldownMs = 10_000
const maxHosts = 10_000

/** Hosts that failed recently. Further attempts fail at once, so that thousands need not wait for a deadline each. */
export interface FailingHosts {
  isCoolingDown(host: string): boolean
  /** Whether the last attempt failed. */
  isFailing(host: string): boolean
  record(host: string, delivered: boolean): void
}

export const createFailingHosts = (clock: Clock): FailingHosts => {
  const hosts = new RecentMap<string, Failures>(maxHosts)
  return {
    isCoolingDown(host) {
      const left = (hosts.get(host)?.cooldownUntil ?? -Infinity) - clock()
      // Setting the clock back must not extend a lifetime.
      return left > 0 && left <= cooldownMs
    },
    isFailing: (host) => hosts.get(host) !== undefined,
    record(host, delivered) {
      if (delivered) return void hosts.delete(host)
      const failures = hosts.get(host) ?? { consecutive: 0, cooldownUntil: -Infinity }
      failures.consecutive++
      if (failures.consecutive >= maxConsecutive) failures.cooldownUntil = clock() + cooldownMs
      hosts.set(host, failures)
    },
  }
}
