import { nextMethod } from '../../interaction/method-choice.js'
import type { PassedSignIn } from '../../interaction/session.js'
import type { OpenAttempt, PassedSoFar } from '../../interaction/sign-in-attempts.js'
import type { Answer, SignInMethod, SignInResult } from '../../interaction/sign-in-method.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import type { AttemptPolicy } from '../../storage/ports.js'
import type { EndSession } from '../authorization-flow/end-session.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { RequestRules, SignInMethods } from '../authorization-flow/options.js'
import { MethodFailed, type StartedAttempt, type RunMethod } from './run-method.js'
import {
  createRefuseSignIn,
  createStartSignIn,
  type CompleteContext,
  type SignInStep,
  type StartOptions,
} from './start-sign-in.js'

/** The answer to a method. */
export interface AnsweredAttempt {
  readonly method: SignInMethod
  readonly answer: Answer
  /** Absent for a first method with a form. */
  readonly attempt?: OpenAttempt & { readonly id: string }
}

export type CompleteOptions = StartOptions & Pick<SignInMethods, 'secondFactorGuesses'> & Pick<RequestRules, 'acrs'>

/** Limits guesses at second factors. Reaching one requires the first factor, so nobody else can lock the person out. */
const guesses: AttemptPolicy = { free: 5, baseDelaySeconds: 1, maxDelaySeconds: 900, forgetAfterSeconds: 86_400 }

/**
 * Processes the answer to a method up to a session, a second factor or a problem. Everything throws `OAuthError`,
 * `Unavailable`.
 */
export const createCompleteSignIn = (options: CompleteOptions, flow: Flow, run: RunMethod, endSession: EndSession) => {
  const { methods, acrs, clock, refusals, secondFactorGuesses: limiter } = options
  const start = createStartSignIn(options, flow, endSession)

  const refuse = createRefuseSignIn(refusals)

  /** Starts the next method that the person has. Undefined if no further one is required. */
  const beginNext = async (
    visit: CompleteContext,
    passed: PassedSoFar,
    begun: number,
  ): Promise<StartedAttempt | undefined> => {
    const skipped = new Set<string>()
    for (;;) {
      const next = nextMethod({ methods, acrs, wanted: visit.wanted, passed, skipped })
      if (next === undefined) return undefined
      const asked = await run.begin(visit, next, begun, passed)
      if (asked.prompt.kind !== 'none') return asked
      skipped.add(next.id)
    }
  }

  const problemOf = async (
    visit: CompleteContext,
    { method, attempt }: AnsweredAttempt,
    found: Omit<Extract<SignInStep, { outcome: 'problem' }>, 'outcome' | 'method'>,
  ) => {
    const problem = { outcome: 'problem', method, ...found } as const
    // A method elsewhere starts with a click, so that nobody is redirected in a loop.
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
    visit: CompleteContext,
    answered: AnsweredAttempt,
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

  return async (visit: CompleteContext, answered: AnsweredAttempt): Promise<SignInStep> => {
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

/** Joins a first method and a second factor: as strong as both, and as old as the older one. */
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
