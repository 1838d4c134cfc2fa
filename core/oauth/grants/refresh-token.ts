import { createHmac } from 'node:crypto'
import { hashOpaqueToken, newOpaqueToken } from '../../opaque-token.js'

/**
 * The same refresh token may come again within this many seconds, because its response was lost
 * (docs/design/decisions.md#7-grants).
 */
export const honestRetrySeconds = 10

const secretLength = 43
const form = /^[\w-]{86}$/
/**
 * Tokens of earlier versions have 22 characters that are the key of the family in the store, then 43 that are secret.
 */
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
 * A token has 43 characters that are new in each token, then 43 that are the same for the family; both are 256 random
 * bits in base64url. The store knows the family by the hash of its part, so the part exists only in genuine tokens. A
 * token that has this part and is not the current one was either current once or made from one that was, and it ends
 * the family as a token used twice. The contents of the store, of a backup or of the beginning of a token in a log
 * are not enough for that.
 */
export const newRefreshToken = (): NewRefreshToken => {
  const familySecret = newOpaqueToken()
  const token = newOpaqueToken() + familySecret
  return { token, family: hashOpaqueToken(familySecret), hash: hashOpaqueToken(token) }
}

/** Returns undefined when the text cannot be a refresh token of this server. */
export const readRefreshToken = (token: string): ReadRefreshToken | undefined => {
  if (form.test(token)) return { family: hashOpaqueToken(token.slice(secretLength)), hash: hashOpaqueToken(token) }
  return earlierForm.test(token)
    ? { family: token.slice(0, earlierFamilyLength), hash: hashOpaqueToken(token) }
    : undefined
}

/**
 * Returns the successor of `token` under `salt`, of the same family and form. It can be derived again only from the
 * old token and the stored salt together, so an honest retry is answered although the store has only hashes.
 */
export const deriveSuccessor = (token: string, salt: string): { readonly token: string; readonly hash: string } => {
  const secret = createHmac('sha256', Buffer.from(salt, 'base64url')).update(token).digest('base64url')
  const successor = form.test(token) ? secret + token.slice(secretLength) : token.slice(0, earlierFamilyLength) + secret
  return { token: successor, hash: hashOpaqueToken(successor) }
}

export const newSalt = newOpaqueToken
