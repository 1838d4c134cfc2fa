import { definePlugin, isPublicClient, OAuthError, type GrantHandler } from '../../../core/api/index.js'

/** Scopes that speak of a person (OIDC Core §5.4, §11); here there is none. */
const personal: ReadonlySet<string> = new Set(['openid', 'profile', 'email', 'address', 'phone', 'offline_access'])

/** The client credentials grant (RFC 6749 §4.4): confidential clients, no refresh token, no id_token. */
const clientCredentials: GrantHandler = {
  grantType: 'client_credentials',
  async handle({ client, scope, resource }) {
    if (isPublicClient(client)) throw new OAuthError('unauthorized_client', 'A public client cannot use this grant.')
    if (scope.some((name) => personal.has(name)))
      throw new OAuthError('invalid_scope', 'The scope is about a person, and this grant has none.')
    return {
      subject: client.client_id,
      scope: scope.length > 0 ? scope : client.scope.filter((name) => !personal.has(name)),
      audience: resource,
    }
  },
}

export default definePlugin({
  name: 'grants/client-credentials',
  apiVersion: 1,
  create: () => ({ grants: [clientCredentials] }),
})
