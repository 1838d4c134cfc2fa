import { createSignInAttempts, type SignInAttempts } from '../../interaction/sign-in-attempts.js'
import { createEndSession, type EndSessionOptions } from '../authorization-flow/end-session.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { SignInMethods, CommonOptions } from '../authorization-flow/options.js'
import { createCompleteSignIn, type CompleteOptions, type CompleteSignIn } from './complete-sign-in.js'
import { createRunMethod, type RunMethod } from './run-method.js'

/** What a sign-in needs besides the flow: stores of attempts, accounts, and where to record what people did. */
export type SignInOptions = CompleteOptions &
  EndSessionOptions &
  Pick<SignInMethods, 'signInAttempts' | 'openAttempts'> &
  Pick<CommonOptions, 'issuer' | 'log'>

/** What the login page and the callback address share. */
export interface SignInParts {
  readonly attempts: SignInAttempts
  readonly run: RunMethod
  readonly complete: CompleteSignIn
}

export const createSignInParts = (options: SignInOptions, flow: Flow): SignInParts => {
  const attempts = createSignInAttempts(options.signInAttempts, options.openAttempts)
  const run = createRunMethod({ ...options, attempts, flow })
  const complete = createCompleteSignIn(options, flow, run, createEndSession(options, flow.sessions))
  return { attempts, run, complete }
}
