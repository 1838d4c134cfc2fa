import type { Clock } from '../clock.js'
import { MinuteMap } from '../limits/minute-map.js'
import { OAuthError } from '../oauth/errors.js'

/** The number of callers that are counted in one minute. */
const maxCallers = 1000

/**
 * Counts requests by caller and minute in this process alone, because the admin listener must answer while the stores
 * are down. The returned function throws `OAuthError` (429) for a request over the limit.
 */
export const createMinuteLimit = (perMinute: number, clock: Clock): ((caller: string) => void) => {
  const counts = new MinuteMap<number>(maxCallers)
  return (caller) => {
    const now = clock()
    counts.enter(Math.floor(now / 60_000))
    const count = (counts.get(caller) ?? 0) + 1
    if (count <= perMinute && counts.set(caller, count)) return
    throw new OAuthError('access_denied', 'Too many requests. Try again in a minute.', {
      status: 429,
      headers: { 'Retry-After': String(60 - (Math.floor(now / 1000) % 60)) },
    })
  }
}
