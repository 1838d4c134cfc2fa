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

/** An endpoint that takes a request for authorization. */
type RequestEndpoint =
  'authorization' | 'pushed_authorization_request' | 'device_authorization' | 'backchannel_authentication'

const authorization: readonly RequestEndpoint[] = ['authorization', 'pushed_authorization_request']
const withDetails: readonly RequestEndpoint[] = [...authorization, 'backchannel_authentication']
const all: readonly RequestEndpoint[] = [...withDetails, 'device_authorization']

/** What is checked of a request for authorization, in this order, and at which endpoints. */
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

/** What the steps find, one after another. Throws the `OAuthError` of the first that refuses; `Unavailable`. */
export const checkRequest = async (steps: readonly Step[], input: Omit<StepInput, 'before'>): Promise<StepResult> => {
  let before: StepResult = {}
  for (const step of steps) before = { ...before, ...(await step({ ...input, before })) }
  return before
}
