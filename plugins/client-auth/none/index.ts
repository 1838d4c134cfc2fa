import { definePlugin, type ClientAuthenticator, type TokenRequest } from '../../../core/api/index.js'

/** Clients that always send Basic do so without a password, too, which RFC 7617 §2 allows to be empty. */
const findNamed = (request: TokenRequest): string | undefined => {
  try {
    const credentials = request.basicCredentials()
    return credentials?.secret === '' ? credentials.clientId : undefined
  } catch {
    // What is malformed is refused as client_secret_basic.
    return undefined
  }
}

/** Undefined when the request has something that would have to be proved. */
const findClientId = (request: TokenRequest): string | undefined => {
  const { params } = request
  if (params.has('client_secret') || params.has('client_assertion')) return undefined
  return request.header('authorization') === undefined ? params.get('client_id') : findNamed(request)
}

/** A public client names itself and proves nothing (RFC 6749 §2.1, OIDC Core §9 `none`). */
const none: ClientAuthenticator<undefined> = {
  method: 'none',
  detect(request) {
    const clientId = findClientId(request)
    return clientId === undefined ? undefined : { clientId, evidence: undefined }
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
