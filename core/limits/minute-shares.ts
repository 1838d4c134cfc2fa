import type { Clock } from '../clock.js'
import type { AttemptLimiter } from '../storage/ports.js'
import { MinuteMap } from './minute-map.js'
import { minutePolicy } from './minute-policy.js'

const windowSeconds = 60

/** Minutes since the epoch. */
export const minuteOf = (clock: Clock): number => Math.floor(clock() / 1000 / windowSeconds)

/** Seconds until the next minute starts, always more than 0. */
export const secondsToNextMinute = (clock: Clock): number => windowSeconds - ((clock() / 1000) % windowSeconds)

/** A tenth of the limit, at least one. */
const shareOf = (perMinute: number): number => Math.max(1, Math.floor(perMinute / 10))

/** What one id has used of this minute in this process. */
interface Used {
  count: number
  allowed: number
  /** A pending request for a share. */
  asking?: Promise<void> | undefined
  /** Whether the store has no more for this minute. */
  spent: boolean
}

export interface MinuteSharesOptions {
  readonly attempts: AttemptLimiter
  readonly clock: Clock
  /** The namespace of the counters in the store. */
  readonly namespace: string
  /** How many ids one process remembers in a minute. */
  readonly maxRemembered: number
  /** What happens to an id that is not remembered: it is not counted, or it takes a share from the store each time. */
  readonly beyond: 'pass' | 'ask'
}

/**
 * Counts shared by all processes. Each process lets a tenth of the limit pass without asking the store, then takes
 * further tenths from the store. The effective bound is the limit plus a tenth for each process after the first.
 */
export interface MinuteShares {
  /**
   * Counts one for `id` in this minute, and returns false when that exceeds `perMinute`. Nearly every call returns a
   * boolean synchronously. Rejects with `Unavailable` when a share is needed and the store is down.
   */
  take(id: string, perMinute: number): boolean | Promise<boolean>
}

export const createMinuteShares = (options: MinuteSharesOptions): MinuteShares => {
  const { attempts, clock, namespace, maxRemembered, beyond } = options
  const used = new MinuteMap<Used>(maxRemembered)

  const askShare = async (id: string, minute: number, one: Used, perMinute: number): Promise<void> => {
    const share = shareOf(perMinute)
    // All shares except the one that each process has without asking.
    const others = Math.floor(perMinute / share) - 1
    try {
      const { allowed } =
        others > 0
          ? await attempts.take(namespace, `${id}.${String(minute)}`, minutePolicy(others))
          : { allowed: false }
      if (allowed) one.allowed += share
      else one.spent = true
    } finally {
      one.asking = undefined
    }
  }

  const takeShared = async (id: string, minute: number, one: Used, perMinute: number): Promise<boolean> => {
    while (one.count >= one.allowed && !one.spent) await (one.asking ??= askShare(id, minute, one, perMinute))
    if (one.count >= one.allowed) return false
    one.count++
    return true
  }

  return {
    take(id, perMinute) {
      const minute = minuteOf(clock)
      used.enter(minute)
      let one = used.get(id)
      if (one === undefined) {
        one = { count: 0, allowed: shareOf(perMinute), spent: false }
        if (!used.set(id, one)) {
          if (beyond === 'pass') return true
          one.allowed = 0
        }
      }
      if (one.count < one.allowed) {
        one.count++
        return true
      }
      return !one.spent && takeShared(id, minute, one, perMinute)
    },
  }
}
