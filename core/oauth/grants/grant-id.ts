import { randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.js'

const form = /^[\w-]{22}-([0-9a-z]{8,9})$/

/** 128 random bits, and the millisecond of the grant in base 36: tokens, whose `jti` begins with it, show when it was granted. */
export const newGrantId = (clock: Clock): string => `${randomBytes(16).toString('base64url')}-${clock().toString(36)}`

/** Milliseconds since the epoch. Undefined for ids of versions that did not say, and of plugins. */
export const grantedAtOf = (grantId: string): number | undefined => {
  const [, written] = form.exec(grantId) ?? []
  return written === undefined ? undefined : parseInt(written, 36)
}
