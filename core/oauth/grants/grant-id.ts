import { randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.js'

const form = /^[\w-]{22}-([0-9a-z]{8,9})$/

/**
 * Makes an id of 128 random bits and the millisecond of the grant in base 36. The `jti` of tokens begins with this
 * id, so they show when the grant was made.
 */
export const newGrantId = (clock: Clock): string => `${randomBytes(16).toString('base64url')}-${clock().toString(36)}`

/**
 * Returns milliseconds since the epoch. Undefined for ids from plugins and from versions that did not record the
 * time.
 */
export const grantedAtOf = (grantId: string): number | undefined => {
  const [, written] = form.exec(grantId) ?? []
  return written === undefined ? undefined : parseInt(written, 36)
}
