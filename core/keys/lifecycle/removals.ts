import { isoTime } from '../../clock.js'
import type { Problem } from '../../../config/problems.js'
import type { Config } from '../../../config/schema.js'
import { stateAt } from '../key-states.js'
import type { KeyPublications, PublishedEntry } from './publications.js'
import { lifetimeOf, retention } from './open-ring.js'

type Times = Pick<PublishedEntry, 'purposes' | 'not_before' | 'not_after'>

/** A configuration with the inventory that is in force. */
export interface InForce {
  readonly config: Config
  readonly keys: readonly (Times & { readonly kid: string; readonly path?: string })[]
}

/** The inventory before this start, as far as it is remembered. */
export const findLastInventory = (publications: KeyPublications): readonly (PublishedEntry & { kid: string })[] =>
  [...publications].flatMap(([kid, { entry, withdrawn }]) =>
    entry === undefined || withdrawn !== undefined ? [] : [{ kid, ...entry }],
  )

/**
 * Keys that `after` stops publishing before the tokens they signed under `before` have expired. Paths are those of
 * `after`. Pure.
 */
export const findEarlyRemovals = (before: InForce, after: InForce, now: number): readonly Problem[] =>
  before.keys.flatMap((key) => {
    const kept = retention(before.config, key.purposes) * 1000
    const lifetime = lifetimeOf(before.config, key)
    const state = stateAt(lifetime, now)
    if (state === 'next' || state === 'gone') return []

    const successor = after.keys.find(({ kid }) => kid === key.kid)
    const keptThen = successor === undefined ? 0 : retention(after.config, successor.purposes) * 1000
    const needed = (state === 'active' ? now : lifetime.notAfter) + Math.max(kept, keptThen)
    const published = successor === undefined ? -Infinity : lifetimeOf(after.config, successor).goneAt
    if (published >= needed) return []
    const path = successor === undefined ? 'keys' : `${successor.path ?? 'keys'}.not_after`
    const what = successor === undefined ? 'has been removed' : `would be published only until ${isoTime(published)}`
    const advice = state === 'active' ? 'give it a not_after in the future' : 'keep it until then'
    return [{ path, message: `${key.kid} ${what}, but tokens that it signed live until ${isoTime(needed)}: ${advice}` }]
  })
