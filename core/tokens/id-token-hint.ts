import { verifyOwnToken, type OwnTokenVerification } from './verify-own-token.js'
import { idTokenProfile } from './profiles.js'

const maxLength = 8192

/** Whom an `id_token_hint` speaks of: an id_token of ours, its time over or not (OIDC Core §3.1.2.1). */
export const verifyIdTokenHint = async (token: string, expected: OwnTokenVerification) => {
  if (token.length > maxLength) return undefined
  const verified = await verifyOwnToken(token, { ...expected, ...idTokenProfile, expired: 'accepted' })
  const { sub, aud, sid } = verified?.claims ?? {}
  if (typeof sub !== 'string' || typeof aud !== 'string') return undefined
  return { sub, aud, ...(typeof sid === 'string' && { sid }) }
}
