import { definePlugin, type ClientAuthenticator } from '../../../core/api/index.js'

/** A public client names itself and proves nothing (RFC 6749 §2.1, OIDC Core §9 `none`). */
const none: ClientAuthenticator<undefined> = {
  method: 'none',
  detect({ params, header }) {
    const clientId = params.get('client_id')
    const proves =
      header('authorization') !== undefined || params.has('client_secret') || params.has('client_assertion')
    return clientId === undefined || proves ? undefined : { clientId, evidence: undefined }
  },
  async authenticate() {
    return {}
  },
}

export default definePlugin({
  name: 'client-auth/none',
  apiVersion: 1,
  create: () => ({ clientAuthenticators: [none] }),
})
