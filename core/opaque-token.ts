import { hash, randomFillSync } from 'node:crypto'

const tokenBytes = 32
const pool = Buffer.alloc(tokenBytes * 128)
let used = pool.length

/**
 * A new code, refresh token, session id or CSRF secret: 256 random bits as 43 characters of base64url (RFC 6749
 * §10.10). The bytes come from a pool filled by one call of the generator, and are wiped once taken.
 */
export const newOpaqueToken = (): string => {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const bytes = pool.subarray(used, used + tokenBytes)
  used += tokenBytes
  const token = bytes.toString('base64url')
  bytes.fill(0)
  return token
}

/** What a store keeps in place of the token: base64url of its SHA-256. */
export const hashOpaqueToken = (token: string): string => hash('sha256', token, 'base64url')

const opaqueToken = /^[\w-]{43}$/

/** Whether the text has the form of our tokens. Anything else is not looked up. */
export const isOpaqueToken = (text: string | undefined): text is string => text !== undefined && opaqueToken.test(text)

/** Hides runs of 40 characters in text from outside, because each may be a token sent in the wrong place. */
export const hideTokens = (sent: string): string => sent.replaceAll(/[\w-]{40,}/g, '[redacted]')
