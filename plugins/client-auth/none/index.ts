import { definePlugin, type ClientAuthenticator } from '../../../core/api/index.js'
import { findNamedClient } from '../../../core/api/internal.js'

/** A public client states its id and proves nothing (RFC 6749 §2.1, OIDC Core §9 `none`). */
const none: ClientAuthenticator<undefined> = {
  method: 'none',
  detect(request) {
    const clientId = findNamedClient(request)
    return clientId === undefined ? undefined : { clientId, evidence: undefined, unproven: true }
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
