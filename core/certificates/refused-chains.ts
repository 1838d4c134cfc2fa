import { createHash } from 'node:crypto'
import { epochSeconds, type Clock } from '../clock.js'
import { RecentMap } from '../recent-map.js'
import { notYetValid } from './validity.js'

/** 300 bytes each. Twice as many as one address may have refused in a minute (`rate_limits.refused`) stay remembered. */
const maxRefused = 2000
const seconds = 60

const digestOf = (chain: readonly Uint8Array[]): string => {
  const digest = createHash('sha256')
  for (const raw of chain) digest.update(`${String(raw.byteLength)} `).update(raw)
  return digest.digest('base64url')
}

/**
 * Remembers for a minute which chains (DER) were refused, and why: gives what `find` finds, or the text of the refusal before.
 * A chain that is not yet valid may be so a moment later.
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
