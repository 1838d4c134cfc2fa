import { createHmac } from 'node:crypto'
import { hashOpaqueToken, newOpaqueToken } from './opaque-token.js'

/** Seconds within which the same refresh token may come again, because its answer was lost (decisions section 7). */
export const honestRetrySeconds = 10

const familyLength = 22
const pattern = /^[\w-]{65}$/

export interface NewRefreshToken {
  readonly token: string
  readonly family: string
  readonly hash: string
}

/** 22 characters that name the family (132 bits), then 43 that are secret (256 bits); base64url. */
export const newRefreshToken = (): NewRefreshToken => {
  const family = newOpaqueToken().slice(0, familyLength)
  const token = family + newOpaqueToken()
  return { token, family, hash: hashOpaqueToken(token) }
}

/** Undefined when the text cannot be a refresh token of ours. */
export const readRefreshToken = (token: string): { readonly family: string; readonly hash: string } | undefined =>
  pattern.test(token) ? { family: token.slice(0, familyLength), hash: hashOpaqueToken(token) } : undefined

/**
 * The successor of `token` under `salt`. Whoever has the old token and the stored salt derives the same successor
 * again; neither of the two alone gives it, so an honest retry is answered from hashes only.
 */
export const deriveSuccessor = (token: string, salt: string): { readonly token: string; readonly hash: string } => {
  const secret = createHmac('sha256', Buffer.from(salt, 'base64url')).update(token).digest('base64url')
  const successor = token.slice(0, familyLength) + secret
  return { token: successor, hash: hashOpaqueToken(successor) }
}

export const newSalt = newOpaqueToken
