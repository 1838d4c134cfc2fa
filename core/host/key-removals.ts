import type { Problem } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import { stateAt } from '../keys/key-states.js'
import { retention } from './open-ring.js'

/** A configuration with the inventory as it is in force. */
export interface InForce {
  readonly config: Config
  readonly keys: Config['keys']
}

const iso = (time: number): string => new Date(time).toISOString()

/**
 * Keys that `after` publishes no longer, or for a shorter time, than tokens live that they signed under `before`.
 * Paths are those of `after`. Pure.
 */
export const findEarlyRemovals = (before: InForce, after: InForce, now: number): readonly Problem[] =>
  before.keys.flatMap((key) => {
    const notAfter = key.not_after ?? Infinity
    const kept = retention(before.config, key.purposes) * 1000
    const state = stateAt({ notBefore: key.not_before ?? -Infinity, notAfter, goneAt: notAfter + kept }, now)
    if (state === 'next' || state === 'gone') return []

    const index = after.keys.findIndex(({ kid }) => kid === key.kid)
    const successor = after.keys[index]
    const keptThen = successor === undefined ? 0 : retention(after.config, successor.purposes) * 1000
    const needed = (state === 'active' ? now : notAfter) + Math.max(kept, keptThen)
    const published = successor === undefined ? -Infinity : (successor.not_after ?? Infinity) + keptThen
    if (published >= needed) return []
    const path = successor === undefined ? 'keys' : `keys[${String(index)}].not_after`
    const what = successor === undefined ? 'is taken out' : `would be published until ${iso(published)} only`
    const advice = state === 'active' ? 'give it a not_after that is not past' : 'leave it in until then'
    return [{ path, message: `${key.kid} ${what}, but tokens that it signed live until ${iso(needed)}: ${advice}` }]
  })
