import { isUtf8 } from 'node:buffer'
import type { ClientCertificate } from '../../certificates/client-certificate.js'
import type { Client } from './client.js'
import type { DpopProof } from '../dpop.js'
import { OAuthError } from '../errors.js'
import type { SenderConstraint } from '../grants/grant.js'

/** The parts of a request that a client authentication method sees. */
export interface TokenRequest {
  readonly params: ReadonlyMap<string, string>
  /** The endpoint that was called: `POST`, and a path below the issuer such as `/token`. */
  readonly method: string
  readonly path: string
  /**
   * The client's id and secret from `Authorization: Basic`, as `readBasic` reads them. The header is read once,
   * however many methods ask for it. Throws `invalid_client` when it is malformed.
   */
  basicCredentials(): BasicCredentials | undefined
  /** Returns a header of the request by its lower-case name. */
  header(name: string): string | undefined
  /** The certificate of mutual TLS. It proves that the sender has its key, and nothing more. */
  readonly clientCertificate: ClientCertificate | undefined
  /** The caller's address. Only trusted proxies can set it by a header. */
  readonly address: string
}

export interface BasicCredentials {
  readonly clientId: string
  /** The secret may be empty, which proves nothing. */
  readonly secret: string
}

/** The result of `detect`. */
export interface Detection<E = unknown> {
  readonly clientId: string
  readonly evidence: E
  /**
   * The parameters name the client and prove nothing. The request may use another method as well, which the client's
   * registration decides. A certificate beside it is merely the one of the connection, whatever it is used for.
   */
  readonly unproven?: true
}

/** What a method finds out in addition to the client's identity. */
export interface ProvenClient {
  readonly confirmation?: SenderConstraint
  /**
   * The thumbprint of the key of this instance of the client (draft-ietf-oauth-attestation-based-client-auth).
   * Refresh tokens that this request leads to are bound to it.
   */
  readonly instanceJkt?: string
  /** The DPoP proof of the request, if it proved the client. It has been checked, and the endpoint claims it. */
  readonly dpop?: DpopProof
}

/**
 * One client authentication method (OIDC Core §9, RFC 6749 §2.3). `E` is what `detect` found and `authenticate`
 * needs.
 */
export interface ClientAuthenticator<E = unknown> {
  /** The value of `token_endpoint_auth_method`. */
  readonly method: string
  /**
   * Tells whether the request uses this method. It is pure: it uses no store and no network. Throws `OAuthError` when
   * the request uses the method wrongly.
   */
  detect(request: TokenRequest): Detection<E> | undefined
  /** Resolves when the evidence proves the client; throws `OAuthError('invalid_client')` or `Unavailable`. */
  authenticate(client: Client, evidence: E, signal: AbortSignal): Promise<ProvenClient>
}

const malformed = (): OAuthError =>
  new OAuthError('invalid_client', 'Client authentication failed.', { reason: 'malformed Basic credentials' })

const plain = /^[\w\-.~]*$/

/** The client's id and secret are form-encoded before they are joined (RFC 6749 §2.3.1). */
const formDecode = (text: string): string => {
  if (plain.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw malformed()
  }
}

/**
 * Reads the client's id and secret from `Authorization: Basic` (RFC 6749 §2.3.1, RFC 7617 §2), strictly. Undefined
 * when the header is absent or of another scheme; throws `invalid_client` when it is Basic and malformed.
 */
export const readBasic = (header: string | undefined): BasicCredentials | undefined => {
  if (header === undefined || !/^basic(?: |$)/i.test(header)) return undefined
  const encoded = header.slice(6).trim()
  if (encoded.length > 4096 || encoded === '') throw malformed()
  const bytes = Buffer.from(encoded, 'base64')
  // Buffer skips characters that are not base64, so such a text does not survive the round trip.
  if (bytes.toString('base64') !== encoded) throw malformed()
  if (!isUtf8(bytes)) throw malformed()
  const text = bytes.toString('utf8')
  const colon = text.indexOf(':')
  const [clientId, secret] = [formDecode(text.slice(0, Math.max(colon, 0))), formDecode(text.slice(colon + 1))]
  if (colon === -1 || clientId === '' || `${clientId}${secret}`.includes('\0')) throw malformed()
  return { clientId, secret }
}

/** Clients that always use Basic send it without a password as well; RFC 7617 §2 allows an empty one. */
const findNamedByBasic = (request: TokenRequest): string | undefined => {
  try {
    const credentials = request.basicCredentials()
    return credentials?.secret === '' ? credentials.clientId : undefined
  } catch {
    // client_secret_basic refuses a malformed header.
    return undefined
  }
}

/**
 * Returns the client that a request names without proving it by a secret or an assertion; undefined when it sends one
 * of these.
 */
export const findNamedClient = (request: TokenRequest): string | undefined => {
  const { params } = request
  if (params.has('client_secret') || params.has('client_assertion')) return undefined
  return request.header('authorization') === undefined ? params.get('client_id') : findNamedByBasic(request)
}

/**
 * Methods that use a certificate call this: it returns the client that a request names, and the certificate that it
 * came with (RFC 8705 §2).
 */
export const detectByCertificate = (request: TokenRequest): Detection<ClientCertificate> | undefined => {
  const clientId = findNamedClient(request)
  const evidence = request.clientCertificate
  return clientId === undefined || evidence === undefined ? undefined : { clientId, evidence, unproven: true }
}
