import type { InteractionPage } from '../../interaction/interaction.js'
import { formPostPage } from '../../interaction/pages/form-post-page.js'
import { leavingPage } from '../../interaction/pages/leaving-page.js'
import { isFapi, namesOfAlgorithms } from '../../oauth/clients/security-profile.js'
import type { AuthorizationRequest } from '../../oauth/requests/authorization-request.js'
import { OAuthError } from '../../oauth/errors.js'
import { responseModesOf } from '../../oauth/requests/response-mode.js'
import { checkRequest, stepsAt } from '../authorization-flow/check-request.js'
import type { Flow, AuthorizationContext } from '../authorization-flow/flow.js'
import type { RequestRules, RequestSources, CommonOptions } from '../authorization-flow/options.js'
import { getParameters } from '../authorization-flow/parameters.js'
import { getTarget } from '../authorization-flow/target.js'
import type { Declaration } from '../endpoint.js'
import { redirect, type EndpointRequest, type Reply } from '../message.js'
import type { RecordedHandler } from '../refusals.js'
import { encryptionOf } from '../supported.js'
import { getClient, getPushedRequestUri, originAndPath } from './request.js'

const steps = stepsAt('authorization')

/**
 * GET and POST `/authorize` (RFC 6749 §3.1, OIDC Core §3.1.2). An error that must not go to the client is thrown as
 * `OAuthError`; all others go to its redirect URI.
 */
export const authorizationEndpoint = {
  path: '/authorize',
  methods: ['GET', 'POST'],
  body: 'page-form',
  errorTitle: 'authorization_error',
  pages: [leavingPage, formPostPage],
  limit: { byAddress: 'authorize', byRefusals: false },
  refusedEvent: 'authorization.refused',
  discovery: ({
    issuer,
    grantTypes,
    responseTypes,
    requireSignedRequests,
    fetchesRequests,
    responseAlgs,
    detailsTypes,
    acrValues,
    uiLocales,
    securityProfile,
  }) =>
    grantTypes.includes('authorization_code')
      ? {
          authorization_endpoint: `${issuer}/authorize`,
          response_types_supported: responseTypes,
          response_modes_supported: responseModesOf(responseAlgs().length > 0),
          authorization_signing_alg_values_supported: responseAlgs(),
          ...encryptionOf('authorization'),
          code_challenge_methods_supported: ['S256'],
          prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
          display_values_supported: ['page', 'popup', 'touch', 'wap'],
          ui_locales_supported: uiLocales,
          ...(acrValues.length > 0 && { acr_values_supported: acrValues }),
          ...(detailsTypes.length > 0 && { authorization_details_types_supported: detailsTypes }),
          claims_parameter_supported: true,
          request_parameter_supported: true,
          request_object_signing_alg_values_supported: namesOfAlgorithms(securityProfile),
          require_signed_request_object: requireSignedRequests,
          ...(fetchesRequests && { request_uri_parameter_supported: true, require_request_uri_registration: true }),
          authorization_response_iss_parameter_supported: true,
        }
      : {},
} as const satisfies Declaration

type Options = RequestRules & RequestSources & Pick<CommonOptions, 'clients'>

export const createAuthorizationEndpoint = (options: Options, flow: Flow): RecordedHandler => {
  const { pushedRequests, requestObjects } = options

  /** Stores the request and redirects the browser to the page where the person answers. */
  const interact = async ({ http, request }: AuthorizationContext, to: InteractionPage): Promise<Reply> => {
    const { id, cookies } = await flow.interactions.begin({ request }, http.cookie(flow.cookies.browser), http.address)
    return redirect(flow.interactions.pageUrl(id, to), cookies)
  }

  /**
   * Another site's form comes without our cookies, so setting a cookie now would replace the one that binds the
   * browser's other sign-ins. The page it is redirected to is fetched with cookies.
   */
  const lacksLaxCookies = (http: EndpointRequest): boolean =>
    http.method === 'POST' &&
    http.header('sec-fetch-site') === 'cross-site' &&
    http.cookie(flow.cookies.session) === undefined &&
    http.cookie(flow.cookies.browser) === undefined

  const answer = async (context: AuthorizationContext): Promise<Reply> => {
    const { http, request } = context
    if (lacksLaxCookies(http)) {
      const id = await flow.interactions.beginUnbound({ request }, http.address)
      return redirect(flow.interactions.pageUrl(id, 'login'))
    }
    const step = await flow.findNext(context)
    switch (step.next) {
      case 'code':
        return flow.grant(context, step.person.session)
      case 'refuse':
        return flow.refuse({ ...context, sub: step.sub }, step.error)
      default:
        return interact(context, step.next)
    }
  }

  return async (http, seen) => {
    const sent = getParameters(http)
    const client = await getClient(sent, options.clients, options.meantClient)
    seen.claimedClientId = client.client_id
    const requestUri = getPushedRequestUri(sent)
    if (requestUri !== undefined)
      return answer({ http, client, request: await pushedRequests.open(requestUri, client.client_id) })
    if (options.requirePushedRequests || client.require_pushed_authorization_requests === true || isFapi(client))
      throw new OAuthError('invalid_request', 'This application must push its requests (RFC 9126).')
    const params = await requestObjects.open(sent, client)
    const sentUri = originAndPath(params.values.get('redirect_uri') ?? '')
    seen.auditFields = { sent_redirect_uri: sentUri }
    const target = getTarget(params, client, options.meantClient === undefined ? undefined : sentUri)
    let request: AuthorizationRequest
    try {
      const found = await checkRequest(steps, { params, client, rules: options, signal: http.signal })
      request = { ...target, scope: [], resource: [], prompt: [], ...found }
    } catch (error) {
      if (error instanceof OAuthError) return flow.refuse({ http, client, request: target }, error)
      throw error
    }
    return answer({ http, client, request })
  }
}
