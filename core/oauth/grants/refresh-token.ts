import { createHmac } from 'node:crypto'
import { hashOpaqueToken, newOpaqueToken } from '../../opaque-token.js'

/**
 * Seconds within which the same refresh token may come again, because its answer was lost
 * (docs/design/decisions.md#7-grants).
 */
export const honestRetrySeconds = 10

const secretLength = 43
const form = /^[\w-]{86}$/
/** Of earlier versions: 22 characters that are the key of the family in the store, then 43 that are secret. */
const earlierForm = /^[\w-]{65}$/
const earlierFamilyLength = 22

/** A refresh token as the store knows it. */
export interface ReadRefreshToken {
  /** The key of its family in the store. */
  readonly family: string
  readonly hash: string
}

export interface NewRefreshToken extends ReadRefreshToken {
  readonly token: string
}

/**
 * 43 characters that are new in each token, then 43 that are the same for the family; both are 256 random bits in
 * base64url. The store knows the family by the hash of its part, so the part exists in genuine tokens alone: what shows it
 * and is not the current token was current once, or was made from one that was, and ends the family as a token used twice.
 * Nobody can do that with what the store, a backup or the beginning of a token in a log has.
 */
export const newRefreshToken = (): NewRefreshToken => {
  const familySecret = newOpaqueToken()
  const token = newOpaqueToken() + familySecret
  return { token, family: hashOpaqueToken(familySecret), hash: hashOpaqueToken(token) }
}

/** Undefined when the text cannot be a refresh token of ours. */
export const readRefreshToken = (token: string): ReadRefreshToken | undefined => {
  if (form.test(token)) return { family: hashOpaqueToken(token.slice(secretLength)), hash: hashOpaqueToken(token) }
  return earlierForm.test(token)
    ? { family: token.slice(0, earlierFamilyLength), hash: hashOpaqueToken(token) }
    : undefined
}

/**
 * The successor of `token` under `salt`, of the same family and form. Only who has the old token and the stored salt can
 * derive it again; neither of the two alone gives it, so an honest retry is answered from hashes only.
 */
export const deriveSuccessor = (token: string, salt: string): { readonly token: string; readonly hash: string } => {
  const secret = createHmac('sha256', Buffer.from(salt, 'base64url')).update(token).digest('base64url')
  const successor = form.test(token) ? secret + token.slice(secretLength) : token.slice(0, earlierFamilyLength) + secret
  return { token: successor, hash: hashOpaqueToken(successor) }
}

export const newSalt = newOpaqueToken
