import {
  checkGrantAllowed,
  checkRepeated,
  checkResponseMode,
  checkResponseType,
  checkState,
  readAuthorizationDetails,
  readCodeChallenge,
  readDpopJkt,
  readOffline,
  readResource,
  readScope,
  refuseUnsupported,
} from './oauth-steps.js'
import {
  checkDisplay,
  readAcrValues,
  readClaims,
  readIdTokenHint,
  readLocale,
  readLoginHint,
  readMaxAge,
  readNonce,
  readPrompt,
} from './openid-steps.js'
import type { StepResult, Step, StepInput } from './step.js'

/** An endpoint that accepts authorization requests. */
type RequestEndpoint =
  'authorization' | 'pushed_authorization_request' | 'device_authorization' | 'backchannel_authentication'

const authorization: readonly RequestEndpoint[] = ['authorization', 'pushed_authorization_request']
const withDetails: readonly RequestEndpoint[] = [...authorization, 'backchannel_authentication']
const all: readonly RequestEndpoint[] = [...withDetails, 'device_authorization']

/** The checks of an authorization request, in this order, and the endpoints they apply to. */
export const requestSteps: readonly (readonly [name: string, at: readonly RequestEndpoint[], step: Step])[] = [
  ['repeated parameters', authorization, checkRepeated],
  ['state', authorization, checkState],
  ['response_mode', authorization, checkResponseMode],
  ['grant allowed', authorization, checkGrantAllowed],
  ['response_type', authorization, checkResponseType],
  ['unsupported parameters', authorization, refuseUnsupported],
  ['scope', all, readScope],
  ['offline', all, readOffline],
  ['resource', all, readResource],
  ['authorization_details', withDetails, readAuthorizationDetails],
  ['code_challenge', authorization, readCodeChallenge],
  ['dpop_jkt', authorization, readDpopJkt],
  ['nonce', authorization, readNonce],
  ['prompt', authorization, readPrompt],
  ['max_age', authorization, readMaxAge],
  ['display', authorization, checkDisplay],
  ['login_hint', withDetails, readLoginHint],
  ['ui_locales', authorization, readLocale],
  ['claims', authorization, readClaims],
  ['acr_values', withDetails, readAcrValues],
  ['id_token_hint', withDetails, readIdTokenHint],
]

export const stepsAt = (endpoint: RequestEndpoint): readonly Step[] =>
  requestSteps.filter(([, at]) => at.includes(endpoint)).map(([, , step]) => step)

/** Collects the results of the steps in order. Throws the `OAuthError` of the first that refuses, and `Unavailable`. */
export const checkRequest = async (steps: readonly Step[], input: Omit<StepInput, 'before'>): Promise<StepResult> => {
  let before: StepResult = {}
  for (const step of steps) before = { ...before, ...(await step({ ...input, before })) }
  return before
}
