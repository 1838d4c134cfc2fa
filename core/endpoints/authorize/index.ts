import type { InteractionPage } from '../../interaction/interaction.js'
import type { AnswerTarget, AuthorizationRequest } from '../../oauth/authorization-request.js'
import type { Client } from '../../oauth/client.js'
import { OAuthError } from '../../oauth/errors.js'
import type { ParameterList } from '../../oauth/params.js'
import { createConsentPage } from '../interaction/consent.js'
import { createLoginPage } from '../interaction/login.js'
import { redirect, type Endpoint, type EndpointRequest, type Reply } from '../message.js'
import type { Seen } from '../refusals.js'
import { createFlow, type Journey } from './flow.js'
import {
  checkGrantAllowed,
  checkRepeated,
  checkResponseMode,
  checkResponseType,
  checkState,
  readCodeChallenge,
  readDpopJkt,
  readResource,
  readScope,
  refuseUnsupported,
} from './oauth-steps.js'
import {
  checkHints,
  readClaims,
  readIdTokenHint,
  readLocale,
  readLoginHint,
  readMaxAge,
  readNonce,
  readPrompt,
} from './openid-steps.js'
import type { AuthorizeOptions } from './options.js'
import type { Step } from './step.js'
import { getClient, getParameters, getTarget } from './target.js'

export type { AuthorizeOptions, IdTokenHint } from './options.js'

/** What is checked of a request once the client and its redirect URI are known, in this order. */
export const authorizeSteps: readonly (readonly [name: string, step: Step])[] = [
  ['repeated parameters', checkRepeated],
  ['state', checkState],
  ['response_mode', checkResponseMode],
  ['grant allowed', checkGrantAllowed],
  ['response_type', checkResponseType],
  ['unsupported parameters', refuseUnsupported],
  ['scope', readScope],
  ['resource', readResource],
  ['code_challenge', readCodeChallenge],
  ['dpop_jkt', readDpopJkt],
  ['nonce', readNonce],
  ['prompt', readPrompt],
  ['max_age', readMaxAge],
  ['display, acr_values', checkHints],
  ['login_hint', readLoginHint],
  ['ui_locales', readLocale],
  ['claims', readClaims],
  ['id_token_hint', readIdTokenHint],
]

export interface AuthorizeEndpoints {
  /** GET and POST `/authorize`. */
  readonly authorize: Endpoint
  /** GET and POST `/interaction/{id}/login`. */
  readonly login: Endpoint
  /** GET and POST `/interaction/{id}/consent`. */
  readonly consent: Endpoint
}

/**
 * The authorization endpoint (RFC 6749 §3.1, OIDC Core §3.1.2) and the pages it hands over to. What may not be answered
 * to the client is thrown as `OAuthError`; everything else goes to its redirect URI.
 */
export const createAuthorize = (options: AuthorizeOptions): AuthorizeEndpoints => {
  const flow = createFlow(options)

  const check = async (params: ParameterList, client: Client, target: AnswerTarget): Promise<AuthorizationRequest> => {
    let request: AuthorizationRequest = { ...target, scope: [], resource: [], prompt: [] }
    for (const [, step] of authorizeSteps)
      request = { ...request, ...(await step({ params, client, request, options })) }
    return request
  }

  /** Stores the request and sends the browser to the page where the person answers. */
  const interact = async ({ http, request }: Journey, to: InteractionPage): Promise<Reply> => {
    const { id, cookies } = await flow.interactions.begin({ request }, http.cookie(flow.cookies.browser), http.address)
    return redirect(flow.interactions.pageUrl(id, to), cookies)
  }

  const authorize = async (http: EndpointRequest, seen: Seen): Promise<Reply> => {
    const params = getParameters(http)
    const client = await getClient(params, options.findClient)
    seen.claimedClientId = client.client_id
    const target = getTarget(params, client)
    let request: AuthorizationRequest
    try {
      request = await check(params, client, target)
    } catch (error) {
      if (error instanceof OAuthError) return flow.refuse({ http, request: target }, error)
      throw error
    }
    const journey = { http, client, request }
    if (lacksLaxCookies(http)) {
      const id = await flow.interactions.beginUntied({ request }, http.address)
      return redirect(flow.interactions.pageUrl(id, 'login'))
    }
    return flow.goOn(journey, {
      login: () => interact(journey, 'login'),
      consent: () => interact(journey, 'consent'),
      code: (session) => flow.grant(journey, session),
    })
  }

  /**
   * A form that another site posts comes without our cookies, so a cookie that we set now would replace the one that ties
   * the browser's other sign-ins. The page it is sent to is got with the cookies.
   */
  const lacksLaxCookies = (http: EndpointRequest): boolean =>
    http.method === 'POST' &&
    http.header('sec-fetch-site') === 'cross-site' &&
    http.cookie(flow.cookies.session) === undefined &&
    http.cookie(flow.cookies.browser) === undefined

  return {
    authorize: options.refusals.recording(() => 'authorization.refused', authorize),
    login: createLoginPage(options, flow),
    consent: createConsentPage(options, flow),
  }
}
