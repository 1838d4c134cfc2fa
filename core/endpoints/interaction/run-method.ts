import { withDeadline } from '../../deadline.js'
import type { PassedSoFar, SignInAttempts } from '../../interaction/sign-in-attempts.js'
import type {
  Answer,
  Prompt,
  SignInAttempt,
  SignInMethod,
  SignInRequest,
  SignInResult,
} from '../../interaction/sign-in-method.js'
import type { Log } from '../../observe/log.js'
import { OAuthError } from '../../oauth/errors.js'
import { newOpaqueToken } from '../../opaque-token.js'
import { Unavailable } from '../../unavailable.js'
import type { Flow } from '../authorization-flow/flow.js'
import { findLoginOrigin } from '../authorization-flow/login-origin.js'
import type { EndpointRequest } from '../message.js'
import type { OwnInteraction } from './open-interaction.js'

/** The context of a sign-in: the interaction, and what its client asked for. */
export interface SignInContext {
  readonly own: OwnInteraction
  readonly asked: SignInRequest
}

/** A method that was started. */
export interface StartedAttempt {
  readonly id: string
  readonly prompt: Prompt
}

/** The method hung or threw. It cannot be used now, but others can. */
export class MethodFailed extends Error {
  override readonly name = 'MethodFailed'
}

/** Milliseconds. A page waits for all its methods concurrently, and answers before the deadline of its request. */
const beginMs = 1500
const finishMs = 2500

export interface RunOptions {
  readonly issuer: string
  readonly methods: ReadonlyMap<string, SignInMethod>
  readonly attempts: SignInAttempts
  readonly flow: Flow
  readonly log: Log
}

interface Attempted {
  readonly id: string
  readonly challenge: string
  readonly passed?: PassedSoFar | undefined
  readonly kept?: SignInAttempt['kept']
}

/**
 * Calls methods, each with a deadline. Whatever a method does, a failure is a `MethodFailed`, an `OAuthError` or an
 * outage of a store.
 */
export const createRunMethod = ({ issuer, methods, attempts, flow, log }: RunOptions) => {
  const attemptFor = async (
    { own, asked }: SignInContext,
    method: SignInMethod,
    { id, challenge, passed, kept }: Attempted,
    username: string,
  ): Promise<Omit<SignInAttempt, 'signal'>> => ({
    id,
    interactionId: own.interactionId,
    challenge,
    callbackUrl: `${issuer}/sign-in/${method.id}/callback`,
    from: await findLoginOrigin(own.http, flow, username),
    request: asked,
    ...(passed && { passed: { subject: passed.result.subject, amr: passed.result.amr } }),
    ...(kept && { kept }),
  })

  const run = async <T>(
    http: EndpointRequest,
    method: SignInMethod,
    milliseconds: number,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const late = (): Error => new Unavailable('sign-in', 'unknown', 'The sign-in method took too long')
    try {
      return await withDeadline(milliseconds, work, late, http.signal)
    } catch (error) {
      if (error instanceof OAuthError) throw error
      // No other method can work then, and the outage page explains more.
      if (method.kind === 'form' && methods.size === 1) throw error
      log.error('A sign-in method failed', { request_id: http.requestId, method: method.id }, error)
      throw new MethodFailed('the method failed', { cause: error })
    }
  }

  return {
    /** Starts a method. First methods with a form keep no state and are not stored. */
    async begin(
      visit: SignInContext,
      method: SignInMethod,
      begun: number,
      passed?: PassedSoFar,
    ): Promise<StartedAttempt> {
      const [id, challenge] = [newOpaqueToken(), newOpaqueToken()]
      const { http, interactionId, browserCookie } = visit.own
      const attempt = await attemptFor(visit, method, { id, challenge, passed }, '')
      const asked = await run(http, method, beginMs, async (signal) => method.begin({ ...attempt, signal }))
      if (asked.kind === 'none' || (asked.kind === 'form' && passed === undefined)) return { id, prompt: asked }
      const { keep: kept, ...prompt } = { keep: undefined, ...asked }
      const open = {
        method: method.id,
        interactionId,
        challenge,
        begun,
        prompt,
        ...(kept && { kept }),
        ...(passed && { passed }),
      }
      await attempts.open(id, open, browserCookie, http.address)
      return { id, prompt }
    },
    /** Why a callback does not answer anything. Throws `OAuthError`, `Unavailable`. */
    async findFault(
      http: EndpointRequest,
      method: SignInMethod,
      id: string,
      answer: Answer,
    ): Promise<string | undefined> {
      try {
        return await run(http, method, finishMs, async (signal) => method.findFault?.({ id, signal }, answer))
      } catch (error) {
        if (!(error instanceof MethodFailed)) throw error
        throw new Unavailable('sign-in', 'no', 'The sign-in method failed', { cause: error })
      }
    },
    /** Passes the answer to the method. `attempted` is absent for a first method with a form. */
    async finish(
      visit: SignInContext,
      method: SignInMethod,
      answer: Answer,
      attempted?: Attempted,
    ): Promise<SignInResult> {
      const used = attempted ?? { id: newOpaqueToken(), challenge: newOpaqueToken() }
      const attempt = await attemptFor(visit, method, used, attempted?.passed?.typed ?? answer['username'] ?? '')
      return run(visit.own.http, method, finishMs, async (signal) => method.finish({ ...attempt, signal }, answer))
    },
  }
}

export type RunMethod = ReturnType<typeof createRunMethod>
