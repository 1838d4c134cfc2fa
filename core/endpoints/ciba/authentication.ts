import { auditIgnored } from '../../oauth/requests/scope.js'
import { isPlainText } from '../../plain-text.js'
import { epochSeconds } from '../../clock.js'
import type { Account, AccountLookup } from '../../oauth/subjects/account.js'
import type { NotifyDevices } from '../../oauth/ciba/notifier.js'
import { readNotificationToken } from '../../oauth/ciba/ping.js'
import { cibaGrant, type BackchannelRequest } from '../../oauth/ciba/request.js'
import type { ClientAuthentication } from '../../oauth/clients/client-authentication.js'
import { isPublicClient, type Client } from '../../oauth/clients/client.js'
import { OAuthError } from '../../oauth/errors.js'
import { checkNoneRepeated, type ParameterList } from '../../oauth/requests/params.js'
import type { RequestObjects } from '../../oauth/requests/request-object.js'
import { namesOfAlgorithms } from '../../oauth/clients/security-profile.js'
import { hashOpaqueToken, newOpaqueToken } from '../../opaque-token.js'
import { checkRequest, stepsAt } from '../authorization-flow/check-request.js'
import type { CommonOptions, RequestRules } from '../authorization-flow/options.js'
import type { StepResult } from '../authorization-flow/step.js'
import { formParameters, readClientForm, tokenRequestOf } from '../client-request.js'
import type { Declaration } from '../endpoint.js'
import { json } from '../message.js'
import type { RecordedHandler } from '../refusals.js'
import type { CibaOptions } from './options.js'

export interface BackchannelAuthenticationOptions
  extends CibaOptions, RequestRules, Pick<CommonOptions, 'clock' | 'audit'> {
  readonly authenticateClient: ClientAuthentication
  readonly requestObjects: RequestObjects
  readonly accounts: AccountLookup
  readonly notifyDevices: NotifyDevices
  /** The longest lifetime of a request, and the default when its client gives none. */
  readonly ttlSeconds: number
}

const steps = stepsAt('backchannel_authentication')

const parameters = formParameters(
  ...['scope', 'resource', 'authorization_details', 'acr_values', 'login_hint', 'login_hint_token', 'id_token_hint'],
  ...['binding_message', 'user_code', 'requested_expiry', 'client_notification_token', 'request', 'request_uri'],
)

/** OpenID CIBA Core §7.3. */
const intervalSeconds = 5

/** Fits on the smallest screen (OpenID CIBA Core §7.1). */
const maxBindingMessage = 100

/** `POST /bc-authorize` (OpenID CIBA Core §7.1). */
export const backchannelAuthenticationEndpoint = {
  path: '/bc-authorize',
  methods: ['POST'],
  body: 'form',
  limit: { byAddress: 'bc_authorize', byRefusals: true },
  refusedEvent: 'backchannel.refused',
  discovery: ({ issuer, securityProfile }) => ({
    backchannel_authentication_endpoint: `${issuer}/bc-authorize`,
    backchannel_token_delivery_modes_supported: ['poll', 'ping'],
    backchannel_user_code_parameter_supported: false,
    backchannel_authentication_request_signing_alg_values_supported: namesOfAlgorithms(securityProfile),
  }),
} as const satisfies Declaration

export const createBackchannelAuthenticationEndpoint = (options: BackchannelAuthenticationOptions): RecordedHandler => {
  const { authenticateClient, requestObjects, accounts, requests, waiting, limits, clock, audit } = options

  /** A person's name that is another person's subject is ambiguous, so it finds nobody. */
  const findByHint = async (hint: string, signal: AbortSignal): Promise<Account | undefined> => {
    const [named, own] = await Promise.all([accounts.findByUsername?.(hint, signal), accounts.find(hint, signal)])
    return named && own && named.subject !== own.subject ? undefined : (named ?? own)
  }

  const findPerson = async (client: Client, asked: StepResult, signal: AbortSignal): Promise<Account> => {
    const { loginHint, subject } = asked
    checkWait(await limits.takeHint(client.client_id), 'too many hints that name nobody')
    const account =
      loginHint === undefined ? await accounts.find(subject ?? '', signal) : await findByHint(loginHint, signal)
    if (account === undefined) throw new OAuthError('unknown_user_id', 'The hint does not name a person.')
    await limits.giveBackHint(client.client_id)
    return account
  }

  const start = async (
    asked: BackchannelRequest,
    token: string | undefined,
    ttlSeconds: number,
    auditFields: Readonly<Record<string, string>>,
  ): Promise<string> => {
    const [authReqId, approvalId] = [newOpaqueToken(), newOpaqueToken()]
    const request = token === undefined ? asked : { ...asked, ping: { authReqId, token } }
    const { clientId, subject } = request
    const expiresAt = clock() + ttlSeconds * 1000
    checkWait(
      await waiting.enter(subject, { approvalId, clientId, expiresAt }),
      'too many requests wait for this person',
    )
    try {
      const record = { userCode: approvalId, request, intervalSeconds }
      if (!(await requests.start(hashOpaqueToken(authReqId), record, ttlSeconds))) throw new Error('no id is free')
      await audit.record({
        event: 'backchannel.started',
        ...auditFields,
        client_id: clientId,
        sub: subject,
        scope: request.scope.join(' '),
        resource: request.resource,
        approval: hashOpaqueToken(approvalId),
      })
      return authReqId
    } catch (error) {
      await waiting.leave(subject, approvalId)
      throw error
    }
  }

  return async (http, seen) => {
    const form = readClientForm(http, parameters, 'resource')
    const { client, dpop } = await authenticateClient(
      tokenRequestOf(http, form, backchannelAuthenticationEndpoint.path),
      http.signal,
    )
    seen.client = client
    await dpop?.claim()
    checkGrant(client)
    const params = await requestObjects.open(http.form, client)
    checkNoneRepeated(params, 'resource')
    checkHints(params)
    const token = readNotificationToken(params, client)
    const bindingMessage = readBindingMessage(params)
    const ttlSeconds = Math.min(readExpiry(params) ?? options.ttlSeconds, options.ttlSeconds)
    const asked = await checkRequest(steps, { params, client, rules: options, signal: http.signal })
    const { scope = [], ignoredScope, resource = [], authorizationDetails, wantedAcr } = asked
    if (!scope.includes('openid')) throw new OAuthError('invalid_scope', 'The scope openid is missing.')
    const { subject } = await findPerson(client, asked, http.signal)
    seen.auditFields = { about: subject }
    checkWait(await limits.takePerson(client.client_id, subject), 'too many requests of one client to one person')
    await params.claim?.()
    const request: BackchannelRequest = {
      clientId: client.client_id,
      subject,
      scope,
      resource,
      ...(bindingMessage !== undefined && { bindingMessage }),
      ...(authorizationDetails && { authorizationDetails }),
      ...(wantedAcr && { wantedAcr }),
      askedAt: epochSeconds(clock),
    }
    const authReqId = await start(request, token, ttlSeconds, {
      request_id: http.requestId,
      ...auditIgnored(ignoredScope),
    })
    options.notifyDevices(subject, ttlSeconds)
    return json(200, { auth_req_id: authReqId, expires_in: ttlSeconds, interval: intervalSeconds })
  }
}

const invalidRequest = (description: string): never => {
  throw new OAuthError('invalid_request', description)
}

const checkWait = (seconds: number, reason: string): void => {
  if (seconds <= 0) return
  throw new OAuthError('temporarily_unavailable', 'Too many requests.', {
    status: 429,
    reason,
    headers: { 'Retry-After': String(Math.ceil(seconds)) },
  })
}

const checkGrant = (client: Client): void => {
  if (client.grant_types.includes(cibaGrant) && !isPublicClient(client)) return
  throw new OAuthError('unauthorized_client', 'The client may not use this grant type.')
}

/** OpenID CIBA Core §7.1: exactly one hint is required. */
const checkHints = ({ values }: ParameterList): void => {
  if (values.has('request_uri')) invalidRequest('The parameter request_uri is not supported here.')
  if (values.has('login_hint_token')) invalidRequest('The parameter login_hint_token is not supported.')
  if (values.has('login_hint') === values.has('id_token_hint'))
    invalidRequest('The request must have either login_hint or id_token_hint.')
}

const readBindingMessage = ({ values }: ParameterList): string | undefined => {
  const message = values.get('binding_message')
  if (message === undefined || isPlainText(message, maxBindingMessage)) return message
  throw new OAuthError('invalid_binding_message', 'The binding message must have 1 to 100 printable characters.')
}

const readExpiry = ({ values }: ParameterList): number | undefined => {
  const text = values.get('requested_expiry')
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) invalidRequest('The parameter requested_expiry must be a number of seconds.')
  return Number(text)
}
