import type { TokenRequest, ClientAuthenticator } from './client-authenticator.js'
import type { Client, ClientDirectory } from './client.js'
import { OAuthError, withDetails } from './errors.js'
import type { SenderConstraint } from './grant.js'
import type { SecretGuesses } from './secret-guesses.js'

export interface ClientAuthenticationOptions {
  /** By `token_endpoint_auth_method`. */
  readonly authenticators: ReadonlyMap<string, ClientAuthenticator>
  readonly clients: Pick<ClientDirectory, 'find'>
  readonly guesses: SecretGuesses
}

export interface AuthenticatedClient {
  readonly client: Client
  readonly method: string
  readonly confirmation?: SenderConstraint
}

type Detected = NonNullable<ReturnType<ClientAuthenticator['detect']>>

const refusal = 'Client authentication failed.'

/** How many credentials a request carries, known to a plugin or not (RFC 6749 §2.3, RFC 7521 §4.2). */
const countCredentials = ({ params, header }: TokenRequest): number =>
  Number(header('authorization') !== undefined) +
  Number(params.has('client_secret')) +
  Number(params.has('client_assertion'))

/** What is signed cannot be guessed. */
const sendsSecret = ({ method }: ClientAuthenticator): boolean => method.startsWith('client_secret_')

/**
 * Authenticates the client of a request to `/token` and its siblings (RFC 6749 §2.3): exactly one mechanism, the one
 * that the client registered. Only the audit log gets the reason.
 */
export const createClientAuthentication = ({ authenticators, clients, guesses }: ClientAuthenticationOptions) => {
  const methods = [...authenticators.values()]

  const detect = (request: TokenRequest) => {
    let only: (Detected & { readonly authenticator: ClientAuthenticator }) | undefined
    let found = 0
    for (const authenticator of methods) {
      const detected = authenticator.detect(request)
      if (detected === undefined) continue
      found++
      only = { authenticator, clientId: detected.clientId, evidence: detected.evidence }
    }
    if (found > 1 || countCredentials(request) > 1)
      throw new OAuthError('invalid_request', 'Only one client authentication method may be used.')
    if (only === undefined) throw new OAuthError('invalid_client', refusal, { reason: 'no client authentication' })
    return only
  }

  const authenticate = async (request: TokenRequest, signal: AbortSignal): Promise<AuthenticatedClient> => {
    const { authenticator, clientId, evidence } = detect(request)
    const stated = request.params.get('client_id')
    if (stated !== undefined && stated !== clientId)
      throw new OAuthError('invalid_client', refusal, { reason: 'client_id differs from the authenticated client' })
    const client = await clients.find(clientId)
    if (client === undefined) throw new OAuthError('invalid_client', refusal, { reason: 'unknown client' })
    try {
      if (client === 'disabled') throw new OAuthError('invalid_client', refusal, { reason: 'client is disabled' })
      if (client.token_endpoint_auth_method !== authenticator.method)
        throw new OAuthError('invalid_client', refusal, { reason: `method is not the registered one` })
      const judge = () => authenticator.authenticate(client, evidence, signal)
      const { confirmation } = await (sendsSecret(authenticator)
        ? guesses.slowDown(client.client_id, request.address, judge)
        : judge())
      return { client, method: authenticator.method, ...(confirmation && { confirmation }) }
    } catch (error) {
      throw error instanceof OAuthError ? withDetails(error, { claimedClientId: clientId }) : error
    }
  }

  /** Throws `invalid_client` (401, with `WWW-Authenticate` as RFC 6749 §5.2 asks), `invalid_request`, `temporarily_unavailable` (429), `Unavailable`. */
  return async (request: TokenRequest, signal: AbortSignal): Promise<AuthenticatedClient> => {
    try {
      return await authenticate(request, signal)
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code !== 'invalid_client') throw error
      if (request.header('authorization') === undefined) throw error
      const headers = { ...error.headers, 'WWW-Authenticate': 'Basic realm="token"' }
      const { reason, cause, claimedClientId } = error
      throw new OAuthError('invalid_client', refusal, { reason, headers, cause, claimedClientId })
    }
  }
}

export type ClientAuthentication = ReturnType<typeof createClientAuthentication>
