import { verifyOwnToken, type OwnTokenVerification } from './verify-own-token.js'
import { idTokenProfile } from './profiles.js'

const maxLength = 8192

/**
 * Returns whom an `id_token_hint` names. The hint must be an ID token of this issuer, but may have expired (OIDC Core
 * §3.1.2.1).
 */
export const verifyIdTokenHint = async (token: string, expected: OwnTokenVerification) => {
  if (token.length > maxLength) return undefined
  const verified = await verifyOwnToken(token, { ...expected, ...idTokenProfile, expired: 'accepted' })
  const { sub, aud, sid } = verified?.claims ?? {}
  if (typeof sub !== 'string' || typeof aud !== 'string') return undefined
  return { sub, aud, ...(typeof sid === 'string' && { sid }) }
}
