import type { Session } from '../../interaction/session.js'
import type { AuthorizationRequest } from '../../oauth/requests/authorization-request.js'
import { acrOf, type AuthenticationContexts, type WantedAcr } from '../../oauth/requests/authentication-context.js'
import type { Authentication, AuthorizationCode } from '../../oauth/grants/grant.js'
import { newGrantId } from '../../oauth/grants/grant-id.js'
import type { CommonOptions, RequestRules } from './options.js'

/** How the person of a session signed in. */
export const authenticationOf = (
  session: Session,
  acrs: AuthenticationContexts,
  wantedAcr?: WantedAcr,
): Authentication => {
  const acr = acrOf(acrs, session, wantedAcr)
  return {
    auth_time: session.authTime,
    ...(acr !== undefined && { acr }),
    ...(session.amr.length > 0 && { amr: session.amr }),
    sid: session.sid,
  }
}

/** The record of a code: a new grant of everything requested, by the person of this session. */
export const codeRecord = (
  request: AuthorizationRequest,
  session: Session,
  { acrs, defaultAudience, clock }: Pick<RequestRules, 'acrs' | 'defaultAudience'> & Pick<CommonOptions, 'clock'>,
): AuthorizationCode => ({
  grantId: newGrantId(clock),
  clientId: request.clientId,
  subject: session.subject,
  scope: request.scope,
  ...(request.offline && { offline: request.offline }),
  // Stored explicitly, so that `/token` can tell a client that asks for it from one that asks for more (RFC 8707
  // §2.2).
  resource: request.resource.length > 0 ? request.resource : [defaultAudience],
  authentication: {
    ...authenticationOf(session, acrs, request.wantedAcr),
    ...(request.nonce !== undefined && { nonce: request.nonce }),
  },
  ...(request.requestedClaims && { requestedClaims: request.requestedClaims }),
  ...(request.authorizationDetails && { authorizationDetails: request.authorizationDetails }),
  redirectUri: request.redirectUri,
  redirectUriSent: request.redirectUriSent,
  ...(request.codeChallenge !== undefined && { codeChallenge: request.codeChallenge }),
  ...(request.dpopJkt !== undefined && { dpopJkt: request.dpopJkt }),
})
