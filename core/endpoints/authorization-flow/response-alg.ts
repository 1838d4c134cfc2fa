import type { JwsAlg } from '../../jose/jwk.js'
import type { Client } from '../../oauth/clients/client.js'
import type { RequestRules } from './options.js'

type ResponseAlgs = Pick<RequestRules, 'responseAlg' | 'responseAlgs'>

/** What signed answers to this client are signed with. */
export const responseAlgOf = (client: Client, { responseAlg }: ResponseAlgs): JwsAlg =>
  client.authorization_signed_response_alg ?? responseAlg

/** Is there a key for it now? */
export const canSignResponses = (client: Client, options: ResponseAlgs): boolean =>
  options.responseAlgs().includes(responseAlgOf(client, options))
