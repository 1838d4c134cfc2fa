import { definePlugin, OAuthError, type GrantHandler } from '../../../core/api/index.js'
import { isPublicClient, personalScopes } from '../../../core/api/internal.js'

/** The client credentials grant (RFC 6749 §4.4): confidential clients, no refresh token, no id_token. */
const clientCredentials: GrantHandler = {
  grantType: 'client_credentials',
  async handle({ client, scope, resource }) {
    if (isPublicClient(client)) throw new OAuthError('unauthorized_client', 'A public client cannot use this grant.')
    if (scope.some((name) => personalScopes.has(name)))
      throw new OAuthError('invalid_scope', 'The scope is about a person, and this grant has none.')
    return {
      subject: client.client_id,
      scope: scope.length > 0 ? scope : client.scope.filter((name) => !personalScopes.has(name)),
      audience: resource,
    }
  },
}

export default definePlugin({
  name: 'grants/client-credentials',
  apiVersion: 1,
  create: () => ({ grants: [clientCredentials] }),
})
