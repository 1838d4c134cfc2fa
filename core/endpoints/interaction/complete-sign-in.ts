import { addressBucket } from '../../address-bucket.js'
import { readBrowserNames } from '../../interaction/browser-names.js'
import { firstMethods, nextMethod } from '../../interaction/method-choice.js'
import type { SignInProblem } from '../../interaction/pages/login-page.js'
import type { PassedSignIn } from '../../interaction/session.js'
import type { OpenAttempt, PassedSoFar } from '../../interaction/sign-in-attempts.js'
import type { Answer, SignInMethod, SignInResult } from '../../interaction/sign-in-method.js'
import type { WantedAcr } from '../../oauth/requests/authentication-context.js'
import { findAuthTime } from '../../oauth/subjects/subject-end.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import type { AttemptPolicy } from '../../storage/ports.js'
import type { EndSession } from '../authorization-flow/end-session.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { RequestRules, SignInMethods, SignInRecords, CommonOptions } from '../authorization-flow/options.js'
import { MethodFailed, type Begun, type RunMethod, type SignInVisit } from './run-method.js'

export type SignInStep =
  | { readonly outcome: 'signed-in'; readonly cookies: readonly string[] }
  /** A second factor waits for an answer, on the page or elsewhere. */
  | { readonly outcome: 'next'; readonly begun: Begun }
  | {
      readonly outcome: 'problem'
      readonly problem: SignInProblem
      readonly method: SignInMethod
      readonly retryAfterSeconds?: number
      /** The second factor may be tried again. */
      readonly begun?: Begun
      readonly passed?: PassedSoFar
    }

/** What a method was answered with. */
export interface Answered {
  readonly method: SignInMethod
  readonly answer: Answer
  /** Absent for a form that came first. */
  readonly attempt?: OpenAttempt & { readonly id: string }
}

export type CompleteOptions = Pick<
  SignInMethods,
  'methods' | 'accounts' | 'isLocalSubject' | 'secondFactorGuesses' | 'clockToleranceSeconds'
> &
  Pick<RequestRules, 'acrs'> &
  Pick<SignInRecords, 'revocations'> &
  Pick<CommonOptions, 'clients' | 'clock' | 'audit' | 'refusals'>

export interface CompleteVisit extends SignInVisit {
  readonly wanted?: WantedAcr | undefined
}

/** Of second factors: who is asked for one knew the first, so nobody else can lock the person out. */
const guesses: AttemptPolicy = { free: 5, baseDelaySeconds: 1, maxDelaySeconds: 900, forgetAfterSeconds: 86_400 }
const rememberedSeconds = 180 * 86_400

/** Takes the answer to a method as far as a session, a second factor or a problem. All throws `OAuthError`, `Unavailable`. */
export const createCompleteSignIn = (options: CompleteOptions, flow: Flow, run: RunMethod, endSession: EndSession) => {
  const { methods, accounts, acrs, audit, clock, revocations, refusals, secondFactorGuesses: limiter } = options

  const refuse = (
    { own, asked }: SignInVisit,
    method: string,
    why: string,
    who: { guessed?: string | undefined; sub?: string },
  ) => refusals.record(own.http, { event: 'login.refused', method, claimedClientId: asked.clientId, why, ...who })

  /** Asks the next method that the person has; undefined: no further one is asked. */
  const beginNext = async (visit: CompleteVisit, passed: PassedSoFar, begun: number): Promise<Begun | undefined> => {
    const skipped = new Set<string>()
    for (;;) {
      const next = nextMethod({ methods, acrs, wanted: visit.wanted, passed, skipped })
      if (next === undefined) return undefined
      const asked = await run.begin(visit, next, begun, passed)
      if (asked.prompt.kind !== 'none') return asked
      skipped.add(next.id)
    }
  }

  const findFault = async (
    { asked }: SignInVisit,
    { methods: used, result }: PassedSoFar,
    begun: number,
    signal: AbortSignal,
  ) => {
    const { subject, authTime } = result
    // RFC 9700 §4.15: who reads `sub` alone must not take a service for this person.
    if ((await options.clients.find(subject)) !== undefined) return 'the subject is the id of a client'
    const isElsewhere = used.some((id) => methods.get(id)?.kind !== 'form')
    if (isElsewhere && (await accounts.find(subject, signal)) === undefined) return 'the subject is no account'
    const [first] = used.map((id) => methods.get(id)?.kind)
    if (first === 'redirect' && result.linksAccount !== true && (await options.isLocalSubject(subject, signal)))
      return 'the subject is an account of this deployment'
    const oldest = Math.floor(begun / 1000) - (asked.maxAge ?? Infinity) - options.clockToleranceSeconds
    return authTime !== undefined && authTime < oldest ? 'the sign-in is older than max_age' : undefined
  }

  const start = async (
    visit: CompleteVisit,
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

  const problemOf = async (
    visit: CompleteVisit,
    { method, attempt }: Answered,
    found: Omit<Extract<SignInStep, { outcome: 'problem' }>, 'outcome' | 'method'>,
  ) => {
    const problem = { outcome: 'problem', method, ...found } as const
    // A method elsewhere begins with a click, so that nobody is sent round in circles.
    if (attempt?.passed === undefined || method.kind === 'redirect') return problem
    try {
      return {
        ...problem,
        begun: await run.begin(visit, method, attempt.begun, attempt.passed),
        passed: attempt.passed,
      }
    } catch (error) {
      if (error instanceof MethodFailed) return problem
      throw error
    }
  }

  const settle = async (
    visit: CompleteVisit,
    answered: Answered,
    result: SignInResult,
    begun: number,
  ): Promise<SignInStep> => {
    const { method, answer, attempt } = answered
    if (result.outcome !== 'passed') {
      const why = result.outcome === 'refused' ? (result.why ?? 'refused') : 'locked'
      await refuse(visit, method.id, why, { guessed: result.subject ?? attempt?.passed?.result.subject })
      return problemOf(
        visit,
        answered,
        result.outcome === 'locked'
          ? { problem: 'locked', retryAfterSeconds: result.retryAfterSeconds }
          : { problem: 'wrong' },
      )
    }
    const before = attempt?.passed
    if (before !== undefined && before.result.subject !== result.subject) {
      await refuse(visit, method.id, 'the second factor is of another person', { guessed: before.result.subject })
      return problemOf(visit, answered, { problem: 'wrong' })
    }
    const typed = before === undefined && method.kind === 'form' ? answer['username'] : before?.typed
    const passed: PassedSoFar = {
      methods: [...(before?.methods ?? []), method.id],
      result: before === undefined ? result : joinResults(before.result, result),
      ...(typed !== undefined && { typed }),
    }
    try {
      const next = await beginNext(visit, passed, begun)
      return next === undefined ? await start(visit, method, passed, begun) : { outcome: 'next', begun: next }
    } catch (error) {
      if (error instanceof MethodFailed) return { outcome: 'problem', problem: 'unavailable', method }
      throw error
    }
  }

  return async (visit: CompleteVisit, answered: Answered): Promise<SignInStep> => {
    const { method, answer, attempt } = answered
    const begun = attempt?.begun ?? clock()
    const person = attempt?.passed && hashOpaqueToken(attempt.passed.result.subject)
    const taken = person === undefined ? undefined : await limiter.take('second_factor', person, guesses)
    if (taken?.allowed === false)
      return settle(visit, answered, { outcome: 'locked', retryAfterSeconds: taken.retryAfterSeconds }, begun)
    let result: SignInResult
    try {
      result = await run.finish(visit, method, answer, attempt)
    } catch (error) {
      if (!(error instanceof MethodFailed)) throw error
      return problemOf(visit, answered, { problem: 'unavailable' })
    }
    if (person !== undefined && result.outcome === 'passed') await limiter.clear('second_factor', person)
    return settle(visit, answered, result, begun)
  }
}

export type CompleteSignIn = ReturnType<typeof createCompleteSignIn>

/** Of a first method and a second factor: as good as both, and as old as the older one. */
export const joinResults = (first: PassedSignIn, second: PassedSignIn): PassedSignIn => {
  const times = [first.authTime, second.authTime].filter((time) => time !== undefined)
  const acr = second.acr ?? first.acr
  const username = first.username ?? second.username
  return {
    outcome: 'passed',
    subject: first.subject,
    amr: [...new Set([...first.amr, ...second.amr])],
    ...(acr !== undefined && { acr }),
    ...(times.length > 0 && { authTime: Math.min(...times) }),
    ...(username !== undefined && { username }),
    ...(first.linksAccount === true && { linksAccount: true }),
  }
}
