import type { JwsAlg } from '../../jose/jwk.js'
import type { Client } from '../../oauth/clients/client.js'
import type { RequestRules } from './options.js'

type ResponseAlgs = Pick<RequestRules, 'responseAlg' | 'responseAlgs'>

/** The algorithm of signed answers to this client. */
export const responseAlgOf = (client: Client, { responseAlg }: ResponseAlgs): JwsAlg =>
  client.authorization_signed_response_alg ?? responseAlg

/** Whether there is a key for it now. */
export const canSignResponses = (client: Client, options: ResponseAlgs): boolean =>
  options.responseAlgs().includes(responseAlgOf(client, options))
