import type { Session } from '../../interaction/session.js'
import type { AuthorizationRequest } from '../../oauth/requests/authorization-request.js'
import { acrNotAvailable, isAcrMet, type AuthenticationContexts } from '../../oauth/requests/authentication-context.js'
import type { Client } from '../../oauth/clients/client.js'
import { OAuthError } from '../../oauth/errors.js'
import type { Subjects } from '../../oauth/subjects/subjects.js'
import { isImpersonable } from '../../oauth/requests/redirect-uri.js'

/** What must happen before the client may have its answer. */
export type Next = 'select' | 'login' | 'consent' | 'code'

export interface Situation {
  readonly request: AuthorizationRequest
  readonly client: Client
  /** Also undefined when the account is gone. */
  readonly session: Session | undefined
  readonly subjects: Subjects
  /** Whether the person of the session was chosen for this interaction. */
  readonly isChosen: boolean
  /**
   * Set when other people are signed in in this browser and can be chosen; `hinted` if `login_hint` names one of
   * them.
   */
  readonly others?: 'some' | 'hinted' | undefined
  readonly acrs: AuthenticationContexts
  /** Whether everything requested was allowed before. */
  readonly remembered: boolean
  /** Undefined before an interaction has started. */
  readonly interactionId: string | undefined
  /** Seconds since the epoch. */
  readonly now: number
}

/** Throws `login_required`, `consent_required` or `unmet_authentication_requirements`. */
export const decide = (situation: Situation): Next => {
  const { request, client, session, subjects, acrs } = situation
  const silent = request.prompt.includes('none')
  if (!silent && isChoiceAsked(situation)) return 'select'
  if (session === undefined || isLoginAsked(situation, session)) {
    if (silent) throw new OAuthError('login_required', 'The user must sign in.')
    return 'login'
  }
  // The user must never change silently (OIDC Core §3.1.2.2).
  if (request.subject !== undefined && request.subject !== subjects.seenBy(client, session.subject))
    throw new OAuthError('login_required', 'Another user is signed in.')
  // Such a sign-in has failed (OIDC Core §5.5.1.1, RFC 9470 §5).
  if (request.wantedAcr?.essential === true && !isAcrMet(acrs, session, request.wantedAcr)) throw acrNotAvailable()
  if (!isConsentAsked(situation)) return 'code'
  if (silent) throw new OAuthError('consent_required', 'The user must consent.')
  return 'consent'
}

/**
 * With several people signed in, only the person can say which one it is (OIDC Core §3.1.2.1), unless the client
 * requires one.
 */
const isChoiceAsked = ({ request, session, isChosen, others, interactionId }: Situation): boolean => {
  if (request.subject !== undefined) return false
  if (session === undefined) return others !== undefined
  if (isChosen || session.interactionId === interactionId) return false
  return others === 'hinted' || request.prompt.includes('select_account')
}

/** A sign-in for this interaction satisfies everything that can be asked of one (OIDC Core §3.1.2.3). */
const isLoginAsked = ({ request, interactionId, acrs, now }: Situation, session: Session): boolean => {
  if (session.interactionId === interactionId) return false
  if (request.prompt.includes('login')) return true
  // `max_age=0` is always exceeded, whatever the clocks of two hosts say.
  if (request.maxAge !== undefined && Math.max(0, now - session.authTime) >= request.maxAge) return true
  // A wish that is not essential does not refuse a client that wants no page.
  if (request.wantedAcr?.essential !== true && request.prompt.includes('none')) return false
  return !isAcrMet(acrs, session, request.wantedAcr)
}

/** Whether an earlier consent can count at all. */
export const isConsentRemembered = (client: Client, request: AuthorizationRequest): boolean =>
  client.consent !== 'implicit' && !isConsentAlwaysAsked(client, request)

const isConsentAlwaysAsked = (client: Client, request: AuthorizationRequest): boolean =>
  request.prompt.includes('consent') ||
  client.consent === 'required' ||
  // A payment is approved once, for this request.
  request.authorizationDetails !== undefined

const isConsentAsked = ({ request, client, remembered }: Situation): boolean => {
  if (isConsentAlwaysAsked(client, request)) return true
  // RFC 8252 §8.6: any application could pose as this client, whatever operator or person allowed before.
  if (isImpersonable(client, request.redirectUri)) return true
  return client.consent !== 'implicit' && !remembered
}
