import { epochSeconds } from '../clock.js'
import { verifyOwnToken, type OwnTokenVerification } from '../tokens/verify-own-token.js'
import { isGrantOver } from '../oauth/grants/access-end.js'
import type { ClientDirectory } from '../oauth/clients/client.js'
import type { Subjects } from '../oauth/subjects/subjects.js'
import type { RevocationStore } from '../storage/ports.js'
import type { AccessTokenVerifier } from '../tokens/access-token-verifier.js'
import { revealPeople } from '../tokens/people-in-claims.js'
import { idTokenProfile } from '../tokens/profiles.js'
import type { OwnTokenKind, OwnTokens } from '../modules/contract.js'

export interface OwnTokensOptions extends OwnTokenVerification {
  readonly accessTokenVerifier: Pick<AccessTokenVerifier, 'identify'>
  readonly revocations: RevocationStore
  readonly clients: Pick<ClientDirectory, 'findEnabled'>
  readonly subjects: Subjects
}

/**
 * Every token names itself and its grant in `jti`, because a good signature alone does not authorize anything (RFC
 * 8693 §5).
 */
export const createOwnTokens = ({
  accessTokenVerifier,
  revocations,
  clients,
  subjects,
  ...expected
}: OwnTokensOptions): OwnTokens => {
  /** `tokenClaims` holds the claims as they are in the token, and `claims` holds them with local subjects. */
  const read = async (token: string, kind: OwnTokenKind) => {
    if (kind === 'access_token') {
      const identified = await accessTokenVerifier.identify(token)
      return identified && { tokenClaims: identified.claims, claims: identified.revealed }
    }
    const tokenClaims = (await verifyOwnToken(token, { ...expected, ...idTokenProfile }))?.claims
    const owner = tokenClaims?.['aud']
    if (tokenClaims === undefined || typeof owner !== 'string') return undefined
    const claims = revealPeople(tokenClaims, owner, subjects)
    return claims && { told: tokenClaims, claims }
  }

  return {
    async verify(token, kind) {
      const own = await read(token, kind)
      if (own === undefined) return undefined
      const { tokenClaims, claims } = own
      const { jti, exp, client_id, aud, sub, auth_time } = claims
      // The rest of the token's life limits what is derived from it, so no tolerance lengthens it here.
      if (typeof jti !== 'string' || Number(exp) <= epochSeconds(expected.clock)) return undefined
      const [grantId = jti] = jti.split('.')
      const ownerId = kind === 'access_token' ? client_id : aud
      if (typeof ownerId !== 'string') return undefined
      const [isRevoked, owner] = await Promise.all([
        isGrantOver(revocations, { grantId, clientId: ownerId, subject: sub, authTime: auth_time }, [jti]),
        clients.findEnabled(ownerId),
      ])
      if (isRevoked || owner === undefined) return undefined
      // The owner of an ID token that was not sealed cannot be found.
      if (kind === 'id_token' && owner.subject_type === 'pairwise' && claims === tokenClaims) return undefined
      return { claims, grantId }
    },
  }
}
