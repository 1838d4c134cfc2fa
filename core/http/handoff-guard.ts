import { createClientCertificates } from '../certificates/client-certificates.js'
import { isForSubject, type CertificateSubject } from '../certificates/subject.js'
import type { Clock } from '../clock.js'
import type { EndpointRequest, Handler } from '../endpoints/message.js'
import { OAuthError } from '../oauth/errors.js'
import type { Log } from '../observe/log.js'
import { createBearer } from './bearer.js'

/** What a service must show to answer hand-offs. Every credential that is present is required. */
export interface HandoffCredentials {
  readonly token?: string | undefined
  /**
   * The rule for mutual TLS (RFC 8705 §2.1): the certificate must have one of these subjects, and be issued by one of
   * the anchors (PEM).
   */
  readonly certificates?: { readonly trustAnchors: readonly string[]; readonly subjects: readonly CertificateSubject[] }
}

export interface HandoffGuardOptions {
  readonly clock: Clock
  readonly log: Log
}

/** Admits only callers that may answer hand-offs. */
export const createHandoffGuard = (
  { token, certificates }: HandoffCredentials,
  { clock, log }: HandoffGuardOptions,
): ((endpoint: Handler) => Handler) => {
  const isBearer = token === undefined ? undefined : createBearer(token)
  const trusted =
    certificates &&
    createClientCertificates({
      ...{ trustAnchors: certificates.trustAnchors, intermediates: [], verifiedByProxy: false },
      clock,
    })

  /** The check is made for each request, because a certificate may expire on a connection that stays open. */
  const findCertificateFault = (request: EndpointRequest): string | undefined => {
    if (trusted === undefined || certificates === undefined) return undefined
    const certificate = request.clientCertificate()
    if (certificate === undefined) return 'there is no certificate'
    const read = trusted.read(certificate)
    if (read === undefined) return 'the certificate does not parse'
    if (!certificates.subjects.some((subject) => isForSubject(read, subject)))
      return 'the certificate is for another subject'
    const fault = trusted.findFault(certificate)
    return fault === undefined ? undefined : `the certificate is not trusted: ${fault}`
  }

  return (endpoint) => (request) => {
    const reason = isBearer?.(request) === false ? 'the token is missing or wrong' : findCertificateFault(request)
    if (reason === undefined) return endpoint(request)
    log.warn('A caller may not answer hand-offs', { request_id: request.requestId, reason })
    throw new OAuthError('invalid_token', 'The credentials for answers of hand-offs are missing or wrong.', {
      reason,
      headers: { 'WWW-Authenticate': 'Bearer' },
    })
  }
}
