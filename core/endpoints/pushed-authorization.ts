import { sizeOf, type Slot, type Slots } from '../interaction/slots.js'
import type { AnswerTarget, AuthorizationRequest } from '../oauth/requests/authorization-request.js'
import type { ClientAuthentication } from '../oauth/clients/client-authentication.js'
import { isPublicClient, type Client } from '../oauth/clients/client.js'
import type { Dpop, DpopProof } from '../oauth/dpop.js'
import { OAuthError } from '../oauth/errors.js'
import type { ParameterList } from '../oauth/requests/params.js'
import type { PushedRequests } from '../oauth/requests/pushed-request.js'
import { checkProofAlgorithm, isFapi } from '../oauth/clients/security-profile.js'
import type { RequestObjects } from '../oauth/requests/request-object.js'
import type { AuditLog } from '../observe/audit.js'
import { checkRequest, stepsAt } from './authorization-flow/check-request.js'
import type { RequestRules } from './authorization-flow/options.js'
import { getTarget } from './authorization-flow/target.js'
import { formParameters, readClientForm, tokenRequestOf } from './client-request.js'
import type { Declaration } from './endpoint.js'
import { json, type EndpointRequest } from './message.js'
import type { RecordedHandler } from './refusals.js'

export interface PushedAuthorizationOptions {
  readonly authenticateClient: ClientAuthentication
  readonly rules: RequestRules
  readonly requestObjects: RequestObjects
  readonly pushedRequests: PushedRequests
  /** Limits how many requests of public clients one address may have open. */
  readonly openRequests: Slots
  readonly ttlSeconds: number
  readonly audit: AuditLog
  readonly dpop: Dpop
}

const steps = stepsAt('pushed_authorization_request')

const parameters = formParameters(
  ...['response_type', 'response_mode', 'redirect_uri', 'scope', 'state', 'code_challenge', 'code_challenge_method'],
  ...['nonce', 'prompt', 'max_age', 'display', 'ui_locales', 'claims_locales', 'login_hint', 'id_token_hint'],
  ...[
    'acr_values',
    'claims',
    'resource',
    'authorization_details',
    'dpop_jkt',
    'request',
    'request_uri',
    'registration',
  ],
)

/** `POST /par` (RFC 9126 §2). */
export const pushedAuthorizationEndpoint = {
  path: '/par',
  methods: ['POST'],
  body: 'form',
  cors: true,
  limit: { byAddress: 'par', byRefusals: true },
  refusedEvent: 'authorization.refused',
  discovery: ({ issuer, grantTypes, requirePushedRequests }) =>
    grantTypes.includes('authorization_code')
      ? {
          pushed_authorization_request_endpoint: `${issuer}/par`,
          require_pushed_authorization_requests: requirePushedRequests,
        }
      : {},
} as const satisfies Declaration

export const createPushedAuthorizationEndpoint = (options: PushedAuthorizationOptions): RecordedHandler => {
  const { authenticateClient, rules, requestObjects, pushedRequests, openRequests, ttlSeconds, audit, dpop } = options

  /** RFC 9449 §10.1: the key of the proof, which must be the same as the one that the client names, if any. */
  const bindToKey = (request: AuthorizationRequest, proof: DpopProof | undefined): AuthorizationRequest => {
    if (proof === undefined) return request
    if (request.dpopJkt !== undefined && request.dpopJkt !== proof.jkt)
      throw new OAuthError('invalid_request', 'The parameter dpop_jkt names another key than the DPoP proof.')
    return { ...request, dpopJkt: proof.jkt }
  }

  /** Anyone can send a public client's id, so the slot belongs to the address. */
  const enter = async (client: Client, address: string, request: AuthorizationRequest): Promise<Slot | undefined> => {
    if (!isPublicClient(client)) return undefined
    const entered = await openRequests.enter(address, ttlSeconds, sizeOf(request))
    if (entered.allowed) return entered.place
    throw new OAuthError('temporarily_unavailable', 'Too many open requests from this address.', {
      status: 429,
      reason: 'too many open pushed requests for one address',
      headers: { 'Retry-After': String(entered.retryAfterSeconds) },
    })
  }

  /** Pages use a separate error code for this, which clients do not know (RFC 6749 §4.1.2.1). */
  const targetOf = (params: ParameterList, client: Client): AnswerTarget => {
    try {
      return getTarget(params, client)
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      throw new OAuthError('invalid_request', error.description, { reason: error.reason })
    }
  }

  const check = async (http: EndpointRequest, client: Client): Promise<AuthorizationRequest> => {
    // RFC 9126 §2.1; the step for `/authorize` would answer with another code.
    if (http.form.values.has('request_uri'))
      throw new OAuthError('invalid_request', 'The parameter request_uri cannot be pushed.')
    const params = await requestObjects.open(http.form, client)
    const target = targetOf(params, client)
    // FAPI 2.0 Security Profile §5.3.2.2.
    if (isFapi(client) && !target.redirectUriSent)
      throw new OAuthError('invalid_request', 'The parameter redirect_uri is missing.')
    return {
      ...target,
      scope: [],
      resource: [],
      prompt: [],
      ...(await checkRequest(steps, { params, client, rules, signal: http.signal })),
    }
  }

  return async (http, seen) => {
    const params = readClientForm(http, parameters, 'resource')
    const asked = tokenRequestOf(http, params, pushedAuthorizationEndpoint.path)
    const { client, dpop: proven } = await authenticateClient(asked, http.signal)
    seen.client = client
    const presented = http.header('dpop')
    const proof =
      presented === undefined || proven !== undefined
        ? proven
        : await dpop.check({ proof: presented, method: http.method, path: pushedAuthorizationEndpoint.path })
    checkProofAlgorithm(client, proof)
    const request = bindToKey(await check(http, client), proof)
    await proof?.claim()
    const place = await enter(client, http.address, request)
    try {
      const requestUri = await pushedRequests.push(request, ttlSeconds)
      await audit.record({
        event: 'authorization.pushed',
        request_id: http.requestId,
        client_id: client.client_id,
        scope: request.scope.join(' '),
        resource: request.resource,
      })
      return json(201, { request_uri: requestUri, expires_in: ttlSeconds }, proof?.headers)
    } catch (error) {
      await openRequests.leave(place)
      throw error
    }
  }
}
