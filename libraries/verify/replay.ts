import { checkMembers, kinds } from '../wire/options.js'
import { refused } from './refusal.js'

/**
 * Remembers which request signatures were used. Verifiers with the same audience must share one, for example Redis
 * with `SET key 1 NX EXAT expiresAt`; otherwise a signature used at one is accepted by the next.
 */
export interface ReplayGuard {
  /**
   * True for the first caller with this key, false for later ones until `expiresAt` (seconds since the epoch). Must
   * be one atomic step. The key is the thumbprint of the device's key, a dot, and the id of the signature. A
   * rejection is answered with 503.
   */
  claim(key: string, expiresAt: number): boolean | Promise<boolean>
}

export interface MemoryReplayGuardOptions {
  /** Milliseconds since the epoch. */
  readonly clock?: () => number
  /**
   * Maximum number of remembered signatures, at about 200 bytes each. When full it refuses; it never forgets one
   * early.
   */
  readonly most?: number
  /** Maximum number of one device. Default: a tenth of `most`. */
  readonly maxOfOne?: number
}

/** For a single process. Throws a `TypeError` for unknown options. */
export const memoryReplayGuard = (options: MemoryReplayGuardOptions = {}): ReplayGuard => {
  checkMembers('options', options, { clock: kinds.call, most: kinds.amount, maxOfOne: kinds.amount })
  const { clock = Date.now, most = 1_000_000, maxOfOne = Math.ceil(most / 10) } = options
  const seen = new Set<string>()
  const counts = new Map<string, number>()
  /** Keyed by the second after which they are forgotten. */
  const ends = new Map<number, string[]>()
  let sweptTo = -Infinity

  const forget = (key: string): void => {
    seen.delete(key)
    const owner = ownerOf(key)
    const left = (counts.get(owner) ?? 1) - 1
    if (left === 0) counts.delete(owner)
    else counts.set(owner, left)
  }
  const sweep = (): void => {
    const second = Math.floor(clock() / 1000)
    if (second <= sweptTo) return
    sweptTo = second
    for (const [end, keys] of ends)
      if (end < second) {
        keys.forEach(forget)
        ends.delete(end)
      }
  }

  return {
    claim(key, expiresAt) {
      sweep()
      const end = Math.ceil(expiresAt)
      // After the clock was set back, this one may be among the forgotten ones.
      if (end < sweptTo || seen.has(key)) return false
      const owner = ownerOf(key)
      const count = counts.get(owner) ?? 0
      if (seen.size >= most || count >= maxOfOne) throw refused('replay_guard_full')
      seen.add(key)
      counts.set(owner, count + 1)
      const ending = ends.get(end)
      if (ending) ending.push(key)
      else ends.set(end, [key])
      return true
    },
  }
}

const ownerOf = (key: string): string => key.slice(0, key.indexOf('.'))
