import { createSignInAttempts, type SignInAttempts } from '../../interaction/sign-in-attempts.js'
import { createEndSession, type EndSessionOptions } from '../authorization-flow/end-session.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { AuthorizationOptions } from '../authorization-flow/options.js'
import { createCompleteSignIn, type CompleteSignIn } from './complete-sign-in.js'
import { createRunMethod, type RunMethod } from './run-method.js'

/** What the login page and the address that browsers come back to share. */
export interface SignInParts {
  readonly attempts: SignInAttempts
  readonly run: RunMethod
  readonly complete: CompleteSignIn
}

export const createSignInParts = (options: AuthorizationOptions & EndSessionOptions, flow: Flow): SignInParts => {
  const attempts = createSignInAttempts(options.signInAttempts, options.openAttempts)
  const run = createRunMethod({ ...options, attempts, flow })
  const complete = createCompleteSignIn(options, flow, run, createEndSession(options, flow.sessions))
  return { attempts, run, complete }
}
