import { verifyOwnToken, type OwnTokenVerification } from './verify-own-token.js'
import { idTokenProfile } from './profiles.js'

/** Whom an `id_token_hint` speaks of: an id_token of ours, its time over or not (OIDC Core §3.1.2.1). */
export const verifyIdTokenHint = async (token: string, expected: OwnTokenVerification) => {
  const verified = await verifyOwnToken(token, { ...expected, ...idTokenProfile, expired: 'accepted' })
  const { sub, aud } = verified?.claims ?? {}
  return typeof sub === 'string' && typeof aud === 'string' ? { sub, aud } : undefined
}
