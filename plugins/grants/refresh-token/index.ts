import {
  definePlugin,
  OAuthError,
  type GrantDecision,
  type GrantRequest,
  type RefreshTokens,
} from '../../../core/api/index.js'

const refuse = (reason: string): never => {
  throw new OAuthError('invalid_grant', 'The refresh token is invalid, expired, revoked or was already used.', {
    reason,
  })
}

const decide = async (refreshTokens: RefreshTokens, request: GrantRequest): Promise<GrantDecision> => {
  const { client, params, scope, resource } = request
  const token = params.get('refresh_token')
  if (token === undefined) throw new OAuthError('invalid_request', 'The parameter refresh_token is missing.')
  const grant = (await refreshTokens.find(token)) ?? refuse('unknown, expired or revoked refresh token')
  if (grant.clientId !== client.client_id) refuse('refresh token of another client')
  if (!scope.every((name) => grant.scope.includes(name)))
    throw new OAuthError('invalid_scope', 'The scope exceeds what was granted.')
  if (!resource.every((name) => grant.resource.includes(name)))
    throw new OAuthError('invalid_target', 'The resource is not part of what was granted.')
  const wanted = scope.length > 0 ? scope : grant.scope
  return {
    subject: grant.subject,
    scope: wanted.filter((name) => client.scope.includes(name)),
    audience: resource.length > 0 ? resource : grant.resource,
    authentication: grant.authentication,
    ...(grant.requestedClaims && { requestedClaims: grant.requestedClaims }),
    idToken: true,
    grant,
    redeem: { kind: 'refresh_token', token },
  }
}

/** The refresh token grant (RFC 6749 §6, OIDC Core §12). The core rotates (RFC 9700 §4.14). */
export default definePlugin({
  name: 'grants/refresh-token',
  apiVersion: 1,
  needs: ['refreshTokens'],
  create: (_options, { refreshTokens }) => ({
    grants: [{ grantType: 'refresh_token', handle: (request) => decide(refreshTokens, request) }],
  }),
})
