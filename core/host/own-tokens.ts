import { epochSeconds } from '../clock.js'
import { verifyOwnToken, type OwnTokenVerification } from '../tokens/verify-own-token.js'
import type { ClientDirectory } from '../oauth/client.js'
import { signInOf } from '../oauth/subject-end.js'
import type { RevocationStore } from '../storage/ports.js'
import type { AccessTokenVerifier } from '../tokens/access-token-verifier.js'
import { idTokenProfile } from '../tokens/profiles.js'
import type { OwnTokens } from '../modules/contract.js'

export interface OwnTokensOptions extends OwnTokenVerification {
  readonly accessTokenVerifier: Pick<AccessTokenVerifier, 'identify'>
  readonly revocations: RevocationStore
  readonly clients: Pick<ClientDirectory, 'findEnabled'>
}

/** Every token names itself and its grant in `jti`: a good signature alone is no leave (RFC 8693 §5). */
export const createOwnTokens = ({
  accessTokenVerifier,
  revocations,
  clients,
  ...expected
}: OwnTokensOptions): OwnTokens => ({
  async verify(token, kind) {
    const own =
      kind === 'access_token'
        ? await accessTokenVerifier.identify(token)
        : await verifyOwnToken(token, { ...expected, ...idTokenProfile })
    if (own === undefined) return undefined
    const { jti, exp, client_id, aud, sub, auth_time } = own.claims
    // What is left of the token's life bounds what comes from it, so here no tolerance lengthens it.
    if (typeof jti !== 'string' || Number(exp) <= epochSeconds(expected.clock)) return undefined
    const [grantId = jti] = jti.split('.')
    const ownerId = kind === 'access_token' ? client_id : aud
    if (typeof ownerId !== 'string') return undefined
    const [isRevoked, owner] = await Promise.all([
      revocations.isRevoked([jti, grantId], signInOf(sub, auth_time)),
      clients.findEnabled(ownerId),
    ])
    return isRevoked || owner === undefined ? undefined : { claims: own.claims, grantId }
  },
})
