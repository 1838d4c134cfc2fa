import { createHash, timingSafeEqual } from 'node:crypto'
import {
  definePlugin,
  OAuthError,
  type AuthorizationCode,
  type AuthorizationCodes,
  type GrantDecision,
  type GrantRequest,
} from '../../../core/api/index.js'
import { isPublicClient } from '../../../core/api/internal.js'

const refuse = (reason: string): never => {
  throw new OAuthError('invalid_grant', 'The authorization code is invalid, expired, revoked or was already used.', {
    reason,
  })
}

const verifierForm = /^[A-Za-z0-9\-._~]{43,128}$/

/** RFC 7636 §4.6, and RFC 9700 §4.8.2: a verifier without a challenge is a downgrade. */
const checkVerifier = (record: AuthorizationCode, verifier: string | undefined, isPublic: boolean): void => {
  const { codeChallenge } = record
  if (codeChallenge === undefined) {
    if (verifier !== undefined) refuse('code_verifier without a code_challenge')
    if (isPublic) refuse('code of a public client without a code_challenge')
    return
  }
  if (verifier === undefined) return refuse('no code_verifier')
  if (!verifierForm.test(verifier)) refuse('malformed code_verifier')
  const computed = createHash('sha256').update(verifier).digest()
  const expected = Buffer.from(codeChallenge, 'base64url')
  if (expected.length !== computed.length || !timingSafeEqual(computed, expected)) refuse('wrong code_verifier')
}

/** RFC 6749 §4.1.3: it must be identical to the one in the authorization request. */
const checkRedirectUri = (record: AuthorizationCode, redirectUri: string | undefined): void => {
  if (redirectUri === undefined ? record.redirectUriSent : redirectUri !== record.redirectUri)
    refuse('redirect_uri differs from the authorization request')
}

const decide = async (codes: AuthorizationCodes, request: GrantRequest): Promise<GrantDecision> => {
  const { client, params, scope, resource } = request
  const code = params.get('code')
  if (code === undefined) throw new OAuthError('invalid_request', 'The parameter code is missing.')
  const record = (await codes.find(code)) ?? refuse('unknown or expired code')
  if (record.clientId !== client.client_id) refuse('code of another client')
  checkRedirectUri(record, params.get('redirect_uri'))
  checkVerifier(record, params.get('code_verifier'), isPublicClient(client))
  if (!resource.every((name) => record.resource.includes(name)))
    throw new OAuthError('invalid_target', 'The resource is not part of the authorization.')
  if (!scope.every((name) => record.scope.includes(name)))
    throw new OAuthError('invalid_scope', 'The scope exceeds the authorization.')
  return {
    subject: record.subject,
    scope: (scope.length > 0 ? scope : record.scope).filter((name) => client.scope.includes(name)),
    audience: resource.length > 0 ? resource : record.resource,
    authentication: record.authentication,
    ...(record.requestedClaims && { requestedClaims: record.requestedClaims }),
    idToken: true,
    refresh: true,
    grant: record,
    redeem: { kind: 'authorization_code', code },
  }
}

/** The authorization code grant (RFC 6749 §4.1.3) with PKCE (RFC 7636). */
export default definePlugin({
  name: 'grants/authorization-code',
  apiVersion: 1,
  needs: ['codes'],
  create: (_options, { codes }) => ({
    grants: [{ grantType: 'authorization_code', handle: (request) => decide(codes, request) }],
  }),
})
