import { isObject, type JsonValue } from '../json.js'
import type { Client } from '../oauth/clients/client.js'
import type { Dpop, DpopProof } from '../oauth/dpop.js'
import { OAuthError, withDetails, type ErrorCode } from '../oauth/errors.js'
import { checkProofAlgorithm } from '../oauth/clients/security-profile.js'
import type { EndpointRequest } from './message.js'

type Scheme = 'Bearer' | 'DPoP'

/** A presented access token, unverified. */
export interface PresentedToken {
  readonly scheme: Scheme
  readonly token: string
}

type Headers = Readonly<Record<string, string>>

/**
 * The thumbprints of a key, a certificate, or both. Undefined for any other member, because a constraint that is not
 * understood cannot be met.
 */
const boundTo = (cnf: JsonValue): { jkt?: JsonValue; certificate?: JsonValue } | undefined => {
  if (!isObject(cnf)) return undefined
  const { jkt, 'x5t#S256': certificate, ...others } = cnf
  if (Object.keys(others).length > 0 || (jkt === undefined && certificate === undefined)) return undefined
  return { ...(jkt !== undefined && { jkt }), ...(certificate !== undefined && { certificate }) }
}

/**
 * Reads access tokens at a protected resource (RFC 6750, RFC 9449 §7). `path` is the resource's path below the
 * issuer; without `dpop` only bearer tokens are accepted.
 */
export const createAccessTokens = (path: string, dpop: Dpop | undefined) => {
  const algs = dpop ? `algs="${dpop.algs.join(' ')}"` : ''

  /** A caller that used another scheme, or none, learns about DPoP too (RFC 9449 §7.1, §7.2). */
  const challenge = (scheme: Scheme, error?: ErrorCode, further = ''): Headers => {
    const parameters = error === undefined ? '' : ` error="${error}"${further}`
    if (scheme === 'DPoP') return { 'WWW-Authenticate': `DPoP${parameters}, ${algs}` }
    return { 'WWW-Authenticate': `Bearer${parameters}${dpop ? `, DPoP ${algs}` : ''}` }
  }

  const refuse = (scheme: Scheme, reason: string): never => {
    throw new OAuthError('invalid_token', 'The access token is invalid, expired or revoked.', {
      reason,
      headers: challenge(scheme, 'invalid_token'),
    })
  }

  const badRequest = (description: string): OAuthError =>
    new OAuthError('invalid_request', description, { headers: challenge('Bearer', 'invalid_request') })

  const checkProof = async (request: EndpointRequest, token: string): Promise<DpopProof> => {
    const proof = request.header('dpop')
    if (dpop === undefined || proof === undefined)
      throw new OAuthError('invalid_dpop_proof', 'A DPoP proof is required.', {
        ...(dpop && { headers: await dpop.nonceHeader() }),
      })
    return dpop.check({ proof, method: request.method, path, accessToken: token })
  }

  /** An error that `/token` answers with 400 is a 401 here, with the error in the header (RFC 9449 §7.1). */
  const unauthorized = (error: unknown): never => {
    if (!(error instanceof OAuthError)) throw error
    throw withDetails(error, { status: 401, headers: { ...error.headers, ...challenge('DPoP', error.code) } })
  }

  return {
    challenge,
    refuse,

    /** Reads the token from the header or a form body, but not from both (RFC 6750 §2). */
    readToken(request: EndpointRequest): PresentedToken {
      const header = request.header('authorization')
      if (request.form.repeated.size > 0) throw badRequest('A parameter was sent more than once.')
      const inBody = request.form.values.get('access_token')
      if (request.query.values.has('access_token')) throw badRequest('An access token must not be sent in the query.')
      if (header !== undefined && inBody !== undefined)
        throw badRequest('The access token was sent in more than one way.')
      if (inBody !== undefined) return { scheme: 'Bearer', token: inBody }
      if (header === undefined)
        throw new OAuthError('invalid_token', 'An access token is required.', { headers: challenge('Bearer') })
      const [, scheme = '', token] = /^(Bearer|DPoP) +([\w\-.~+/]+=*)$/i.exec(header) ?? []
      if (token === undefined) return refuse('Bearer', 'malformed Authorization header')
      if (/^bearer$/i.test(scheme)) return { scheme: 'Bearer', token }
      return dpop ? { scheme: 'DPoP', token } : refuse('Bearer', 'DPoP is not available')
    },

    /** Throws `invalid_dpop_proof` for an algorithm that the client's profile excludes. */
    checkAlgorithm(client: Client, proof: DpopProof | undefined): void {
      try {
        checkProofAlgorithm(client, proof)
      } catch (error) {
        unauthorized(error)
      }
    },

    /**
     * Checks that the sender is the one that `cnf` binds the token to. A bound token without its proof or certificate
     * is refused (RFC 8705 §3), and so is an unbound one with a proof (RFC 9449 §7.1): neither may pass for the
     * other. The proof is not claimed yet.
     */
    async checkSender(
      request: EndpointRequest,
      { scheme, token }: PresentedToken,
      cnf: JsonValue | undefined,
    ): Promise<DpopProof | undefined> {
      if (cnf === undefined) return scheme === 'Bearer' ? undefined : refuse(scheme, 'not sender-constrained')
      const { jkt, certificate } = boundTo(cnf) ?? refuse(scheme, 'a confirmation that is not understood')
      if (certificate !== undefined && certificate !== request.clientCertificate()?.thumbprint)
        return refuse(scheme, 'certificate-bound token without its certificate')
      if (jkt === undefined) return scheme === 'Bearer' ? undefined : refuse(scheme, 'not bound to a key')
      if (scheme !== 'DPoP') return refuse(scheme, 'sender-constrained token without proof')
      const proof = await checkProof(request, token).catch(unauthorized)
      if (proof.jkt !== jkt) refuse(scheme, 'proof of another key')
      return { ...proof, claim: () => proof.claim().catch(unauthorized) }
    },
  }
}
