import { createHash } from 'node:crypto'
import { epochSeconds, type Clock } from '../clock.js'
import { RecentMap } from '../recent-map.js'
import { notYetValid } from './validity.js'

/**
 * An entry takes about 300 bytes. There is space for twice as many refusals as `rate_limits.refused` lets one address
 * have in a minute.
 */
const maxRefused = 2000
const seconds = 60

const digestOf = (chain: readonly Uint8Array[]): string => {
  const digest = createHash('sha256')
  for (const raw of chain) digest.update(`${String(raw.byteLength)} `).update(raw)
  return digest.digest('base64url')
}

/**
 * Remembers for a minute which chains (DER) were refused and why. Returns the result of `find`, or the remembered
 * refusal. A chain that is not yet valid is not remembered, because it may be valid a moment later.
 */
export const createRefusedChains = (clock: Clock) => {
  const refused = new RecentMap<string, { readonly reason: string; readonly at: number }>(maxRefused)
  return <Found>(chain: readonly Uint8Array[], find: () => Found | string): Found | string => {
    const digest = digestOf(chain)
    const now = epochSeconds(clock)
    const before = refused.get(digest)
    if (before !== undefined && before.at <= now && now < before.at + seconds) return before.reason
    const found = find()
    if (typeof found === 'string' && found !== notYetValid) refused.set(digest, { reason: found, at: now })
    return found
  }
}
