import type { ClientAuthenticator, Detection, ProvenClient, TokenRequest } from './client-authenticator.js'
import { authenticationMethods, type Client, type ClientDirectory } from './client.js'
import { OAuthError, withDetails, type ErrorDetails } from '../errors.js'
import type { SecretGuesses } from './secret-guesses.js'

export interface ClientAuthenticationOptions {
  /** The authenticators by `token_endpoint_auth_method`. */
  readonly authenticators: ReadonlyMap<string, ClientAuthenticator>
  readonly clients: Pick<ClientDirectory, 'find'>
  readonly guesses: SecretGuesses
}

export interface AuthenticatedClient extends ProvenClient {
  readonly client: Client
  readonly method: string
}

type Found = Detection & { readonly authenticator: ClientAuthenticator }

/** The client sends an attestation and a proof of its key (draft-ietf-oauth-attestation-based-client-auth). */
export const attestedClient = 'attest_jwt_client_auth'

const refusal = 'Client authentication failed.'
const refused = (reason: string, details: ErrorDetails = {}) =>
  new OAuthError('invalid_client', refusal, { ...details, reason })

/** Calls `detect` and adds the method's name to its refusals. */
const detectBy = (authenticator: ClientAuthenticator, request: TokenRequest): Found | undefined => {
  try {
    const detected = authenticator.detect(request)
    return detected && { ...detected, authenticator }
  } catch (error) {
    const clientAuthentication = { method: authenticator.method }
    throw error instanceof OAuthError ? withDetails(error, { clientAuthentication }) : error
  }
}

/** Counts the credentials of a request, whether or not a plugin knows them (RFC 6749 §2.3, RFC 7521 §4.2). */
const countCredentials = ({ params, header }: TokenRequest): number =>
  Number(header('authorization') !== undefined) +
  Number(params.has('client_secret')) +
  Number(params.has('client_assertion'))

/** Only these methods send a secret; a signed credential cannot be guessed. */
const sendsSecret = ({ method }: ClientAuthenticator): boolean => method.startsWith('client_secret_')

/**
 * Authenticates the client of a request to `/token` and its siblings (RFC 6749 §2.3): exactly one mechanism, the one
 * that the client registered. Only the audit log gets the reason.
 */
export const createClientAuthentication = ({ authenticators, clients, guesses }: ClientAuthenticationOptions) => {
  const methods = [...authenticators.values()]

  /**
   * Returns what the request may mean: one method that proves something, or those that the client may have
   * registered.
   */
  const detect = (request: TokenRequest): readonly [Found, ...Found[]] => {
    const found: Found[] = []
    let proven = 0
    for (const authenticator of methods) {
      const detected = detectBy(authenticator, request)
      if (detected === undefined) continue
      if (detected.unproven === true) found.push(detected)
      else {
        proven++
        found.unshift(detected)
      }
    }
    if (proven > 1 || countCredentials(request) > 1 || found.some(({ clientId }) => clientId !== found[0]?.clientId))
      throw new OAuthError('invalid_request', 'Only one client authentication method may be used.')
    const [first, ...others] = found
    if (first === undefined) throw refused('no client authentication')
    return proven > 0 ? [first] : [first, ...others]
  }

  const authenticate = async (request: TokenRequest, signal: AbortSignal): Promise<AuthenticatedClient> => {
    const detected = detect(request)
    const { clientId } = detected[0]
    const client = await clients.find(clientId)
    const registered = typeof client === 'object' ? authenticationMethods(client) : []
    const { authenticator, evidence } =
      detected.find((one) => registered.includes(one.authenticator.method)) ?? detected[0]
    const { method } = authenticator
    if (client === undefined) throw refused('unknown client', { clientAuthentication: { method } })
    if (client === 'disabled')
      throw refused('client is disabled', { claimedClientId: clientId, clientAuthentication: { method } })
    try {
      const stated = request.params.get('client_id')
      if (stated !== undefined && stated !== clientId) throw refused('client_id differs from the authenticated client')
      if (!registered.includes(method)) throw refused('method is not the registered one')
      const authenticate = () => authenticator.authenticate(client, evidence, signal)
      const proven = await (sendsSecret(authenticator)
        ? guesses.slowDown(clientId, request.address, authenticate)
        : authenticate())
      const { confirmation, instanceJkt, dpop } = proven
      return {
        ...{ client, method },
        ...(confirmation && { confirmation }),
        ...(instanceJkt !== undefined && { instanceJkt }),
        ...(dpop && { dpop }),
      }
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      throw withDetails(error, { claimedClientId: clientId, clientAuthentication: { method, registered } })
    }
  }

  /**
   * These are the methods that the request may use: one that proves something, or those that the client may have
   * registered.
   */
  return async (request: TokenRequest, signal: AbortSignal): Promise<AuthenticatedClient> => {
    try {
      return await authenticate(request, signal)
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code !== 'invalid_client') throw error
      if (request.header('authorization') === undefined) throw error
      const headers = { ...error.headers, 'WWW-Authenticate': 'Basic realm="token"' }
      throw withDetails(error, { headers })
    }
  }
}

export type ClientAuthentication = ReturnType<typeof createClientAuthentication>
