import { epochSeconds, type Clock } from '../clock.js'
import type { ClientAuthentication } from '../oauth/clients/client-authentication.js'
import type { Client } from '../oauth/clients/client.js'
import { OAuthError } from '../oauth/errors.js'
import type { Grant } from '../oauth/grants/grant.js'
import type { AuditLog } from '../observe/audit.js'
import type { RefreshFamilyStore, RevocationStore } from '../storage/ports.js'
import type { IdentifiedAccessToken } from '../tokens/access-token-verifier.js'
import type { IdentifiedRefreshToken, IdentifyToken } from '../tokens/identify-token.js'
import type { Declaration } from './endpoint.js'
import { json } from './message.js'
import type { RecordedHandler } from './refusals.js'
import { clientAuthentication } from './supported.js'
import { readTokenQuestion } from './token-question.js'

export interface RevocationOptions {
  readonly authenticateClient: ClientAuthentication
  readonly identify: IdentifyToken
  readonly families: RefreshFamilyStore<Grant>
  readonly revocations: RevocationStore
  readonly audit: AuditLog
  readonly clock: Clock
  readonly toleranceSeconds: number
  /** How long a revoked grant must be remembered: until its last token has expired. */
  readonly grantLifetime: number
}

/**
 * `POST /revoke` (RFC 7009). An unknown token is answered like a revoked one (§2.2); another client's is refused
 * (§2.1).
 */
export const revocationEndpoint = {
  path: '/revoke',
  methods: ['POST'],
  body: 'form',
  cors: true,
  limit: { byAddress: 'revoke', byRefusals: true },
  refusedEvent: 'revocation.refused',
  discovery: (supported) => ({
    revocation_endpoint: `${supported.issuer}/revoke`,
    ...clientAuthentication('revocation', supported),
  }),
} as const satisfies Declaration

const checkOwner = ({ clientId }: { readonly clientId: string }, client: Client): void => {
  if (clientId === client.client_id) return
  throw new OAuthError('invalid_grant', 'The token was issued to another client.')
}

export const createRevocationEndpoint = (options: RevocationOptions): RecordedHandler => {
  const { authenticateClient, identify, families, revocations, audit, clock } = options

  /**
   * Revokes the grant with all its past and future tokens, so that a refresh in progress cannot bring it back. A
   * replaced token ends it too, because the client may have lost the answer with its successor.
   */
  const revokeGrant = async ({ grant, family }: IdentifiedRefreshToken, client: Client, requestId: string) => {
    checkOwner(grant, client)
    await revocations.revoke(grant.grantId, options.grantLifetime)
    await audit.record({
      event: 'grant.revoked',
      request_id: requestId,
      client_id: client.client_id,
      sub: grant.subject,
      grant_id: grant.grantId,
    })
    await families.remove(family)
  }

  const revokeAccessToken = async (token: IdentifiedAccessToken, client: Client, requestId: string) => {
    checkOwner(token, client)
    const { jti, subject, expiresAt } = token
    const leftSeconds = expiresAt - epochSeconds(clock) + options.toleranceSeconds + 1
    // None is left when the clock was set forward after the token was verified.
    await revocations.revoke(jti, Math.max(1, leftSeconds))
    await audit.record({
      event: 'token.revoked',
      request_id: requestId,
      client_id: client.client_id,
      sub: subject,
      jti,
    })
  }

  return async (request, seen) => {
    const { client, token } = await readTokenQuestion(request, authenticateClient, seen, revocationEndpoint.path)
    const identified = await identify(token)
    if (identified?.kind === 'refresh_token') await revokeGrant(identified, client, request.requestId)
    if (identified?.kind === 'access_token') await revokeAccessToken(identified, client, request.requestId)
    return json(200, {})
  }
}
