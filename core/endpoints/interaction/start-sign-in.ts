import { addressBucket } from '../../address-bucket.js'
import { readBrowserNames } from '../../interaction/browser-names.js'
import { firstMethods } from '../../interaction/method-choice.js'
import type { SignInProblem } from '../../interaction/pages/login-page.js'
import type { PassedSoFar } from '../../interaction/sign-in-attempts.js'
import type { SignInMethod } from '../../interaction/sign-in-method.js'
import type { WantedAcr } from '../../oauth/requests/authentication-context.js'
import { findAuthTime } from '../../oauth/subjects/subject-end.js'
import type { EndSession } from '../authorization-flow/end-session.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { CommonOptions, SignInMethods, SignInRecords } from '../authorization-flow/options.js'
import type { Refusals } from '../refusals.js'
import type { StartedAttempt, SignInContext } from './run-method.js'

export type SignInStep =
  | { readonly outcome: 'signed-in'; readonly cookies: readonly string[] }
  /** A second factor waits for an answer, on the page or elsewhere. */
  | { readonly outcome: 'next'; readonly begun: StartedAttempt }
  | {
      readonly outcome: 'problem'
      readonly problem: SignInProblem
      readonly method: SignInMethod
      readonly retryAfterSeconds?: number
      /** The second factor may be retried. */
      readonly begun?: StartedAttempt
      readonly passed?: PassedSoFar
    }

export interface CompleteContext extends SignInContext {
  readonly wanted?: WantedAcr | undefined
}

export type StartOptions = Pick<SignInMethods, 'methods' | 'accounts' | 'isLocalSubject' | 'clockToleranceSeconds'> &
  Pick<SignInRecords, 'revocations'> &
  Pick<CommonOptions, 'clients' | 'clock' | 'audit' | 'refusals'>

const rememberedSeconds = 180 * 86_400

export const createRefuseSignIn =
  (refusals: Pick<Refusals, 'record'>) =>
  ({ own, asked }: SignInContext, method: string, why: string, who: { guessed?: string | undefined; sub?: string }) =>
    refusals.record(own.http, { event: 'login.refused', method, claimedClientId: asked.clientId, why, ...who })

/** Starts the session of a person who has passed everything required, unless the subject may not sign in here. */
export const createStartSignIn = (options: StartOptions, flow: Flow, endSession: EndSession) => {
  const { methods, accounts, audit, revocations, refusals } = options
  const refuse = createRefuseSignIn(refusals)

  const findFault = async (
    { asked }: SignInContext,
    { methods: used, result }: PassedSoFar,
    begun: number,
    signal: AbortSignal,
  ) => {
    const { subject, authTime } = result
    // RFC 9700 §4.15: a reader of `sub` alone must not mistake a service for this person.
    if ((await options.clients.find(subject)) !== undefined) return 'the subject is the id of a client'
    const isElsewhere = used.some((id) => methods.get(id)?.kind !== 'form')
    if (isElsewhere && (await accounts.find(subject, signal)) === undefined) return 'the subject is no account'
    const [first] = used.map((id) => methods.get(id)?.kind)
    if (first === 'redirect' && result.linksAccount !== true && (await options.isLocalSubject(subject, signal)))
      return 'the subject is an account of this deployment'
    const oldest = Math.floor(begun / 1000) - (asked.maxAge ?? Infinity) - options.clockToleranceSeconds
    return authTime !== undefined && authTime < oldest ? 'the sign-in is older than max_age' : undefined
  }

  return async (
    visit: CompleteContext,
    method: SignInMethod,
    passed: PassedSoFar,
    begun: number,
  ): Promise<SignInStep> => {
    const { own, asked } = visit
    const { http, interactionId } = own
    const { result, typed } = passed
    const used = passed.methods.join(' ')
    const [authTime, fault] = await Promise.all([
      findAuthTime(revocations, result.subject, begun, result.authTime),
      findFault(visit, passed, begun, http.signal),
    ])
    if (fault !== undefined) {
      await refuse(visit, used, fault, { sub: result.subject })
      return { outcome: 'problem', problem: 'wrong', method }
    }
    if (authTime === undefined) {
      await refuse(visit, used, 'ended meanwhile', { sub: result.subject })
      return { outcome: 'problem', problem: 'again', method }
    }
    const username = typed ?? result.username
    const seen = readBrowserNames(http.header('user-agent'))
    const at = { authTime, interactionId, seen, ...(username !== undefined && { username }) }
    const { cookies, knownBrowsers } = flow
    const remembered = typed === undefined ? [] : await knownBrowsers.remember(http.cookie(cookies.knownBrowser), typed)
    const started = await flow.sessions.start(result, at, flow.sessionsOf(http))
    for (const displaced of started.displaced) await endSession(http.requestId, displaced)
    const { subject, sid } = started.session
    const trail = { request_id: http.requestId, client_id: asked.clientId }
    const how = { amr: result.amr, method: used, address: addressBucket(http.address) }
    await audit.record({ event: 'login.succeeded', ...trail, sub: subject, sid, ...how })
    const front =
      firstMethods(methods).length > 1 ? [cookies.set(cookies.method, passed.methods[0] ?? '', rememberedSeconds)] : []
    const recovered = http.cookie(cookies.recovery) === undefined ? [] : [cookies.set(cookies.recovery, '', 0)]
    return { outcome: 'signed-in', cookies: [...started.cookies, ...remembered, ...front, ...recovered] }
  }
}
