import type { Session } from '../../interaction/session.js'
import type { AuthorizationRequest } from '../../oauth/authorization-request.js'
import { demandedAcr } from '../../oauth/claims-parameter.js'
import type { Client } from '../../oauth/client.js'
import { OAuthError } from '../../oauth/errors.js'
import { isImpersonable } from '../../oauth/redirect-uri.js'

/** What has to come next before the client may have its answer. */
export type Next = 'login' | 'consent' | 'code'

export interface Situation {
  readonly request: AuthorizationRequest
  readonly client: Client
  /** Undefined also when the account is gone. */
  readonly session: Session | undefined
  /** All that is asked for was allowed before. */
  readonly remembered: boolean
  /** Undefined before an interaction has begun. */
  readonly interactionId: string | undefined
  /** Seconds since the epoch. */
  readonly now: number
}

/** Throws `login_required`, `consent_required` or `access_denied`. */
export const decide = (situation: Situation): Next => {
  const { request, session } = situation
  const silent = request.prompt.includes('none')
  if (session === undefined || isLoginAsked(situation, session)) {
    if (silent) throw new OAuthError('login_required', 'The user must sign in.')
    return 'login'
  }
  // Never a silent change of user (OIDC Core §3.1.2.2).
  if (request.subject !== undefined && request.subject !== session.subject)
    throw new OAuthError('login_required', 'Another user is signed in.')
  if (!isAcrMet(request, session)) throw new OAuthError('access_denied', 'The authentication context is not available.')
  if (!isConsentAsked(situation)) return 'code'
  if (silent) throw new OAuthError('consent_required', 'The user must consent.')
  return 'consent'
}

/** A login for this very interaction settles all that can be asked of one (OIDC Core §3.1.2.3). */
const isLoginAsked = ({ request, interactionId, now }: Situation, session: Session): boolean => {
  if (session.interactionId === interactionId) return false
  if (request.prompt.includes('login') || request.prompt.includes('select_account')) return true
  // `max_age=0` is always over, whatever the clocks of two hosts say.
  if (request.maxAge !== undefined && Math.max(0, now - session.authTime) >= request.maxAge) return true
  return !isAcrMet(request, session)
}

/** An essential `acr` that cannot be had is a failed login (OIDC Core §5.5.1.1). */
const isAcrMet = (request: AuthorizationRequest, session: Session): boolean => {
  const demanded = demandedAcr(request.requestedClaims)
  return demanded === undefined || (session.acr !== undefined && demanded.includes(session.acr))
}

const isConsentAsked = ({ request, client, remembered }: Situation): boolean => {
  if (request.prompt.includes('consent') || client.consent === 'required') return true
  // A payment is approved once, and for this request.
  if (request.authorizationDetails !== undefined) return true
  // RFC 8252 §8.6: nobody can know that it is this client, whatever the operator or the person said of it before.
  if (isImpersonable(client, request.redirectUri)) return true
  return client.consent !== 'implicit' && !remembered
}
