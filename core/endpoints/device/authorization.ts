import { epochSeconds } from '../../clock.js'
import { sizeOf, type Slot, type Slots } from '../../interaction/slots.js'
import { auditIgnored } from '../../oauth/requests/scope.js'
import type { ClientAuthentication } from '../../oauth/clients/client-authentication.js'
import { isPublicClient, type Client } from '../../oauth/clients/client.js'
import { deviceCodeGrant, formatUserCode, newUserCode, type DeviceRequest } from '../../oauth/grants/device-code.js'
import { OAuthError } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import { hashOpaqueToken, newOpaqueToken } from '../../opaque-token.js'
import { checkRequest, stepsAt } from '../authorization-flow/check-request.js'
import type { CommonOptions, RequestRules } from '../authorization-flow/options.js'
import { formParameters, readClientForm, tokenRequestOf } from '../client-request.js'
import type { Declaration } from '../endpoint.js'
import { json } from '../message.js'
import type { RecordedHandler } from '../refusals.js'
import { takeDeviceStart } from './attempts.js'
import type { DeviceOptions } from './options.js'

export interface DeviceAuthorizationOptions
  extends DeviceOptions, RequestRules, Pick<CommonOptions, 'issuer' | 'clock' | 'audit'> {
  readonly authenticateClient: ClientAuthentication
  /** Limits how many codes of public clients one address may have open. */
  readonly openCodes: Slots
  readonly ttlSeconds: number
}

const steps = stepsAt('device_authorization')

/** RFC 8628 §3.2. */
const intervalSeconds = 5

/** With 25 billion user codes, another free one is found at once. */
const maxTries = 5

const parameters = formParameters('scope', 'resource')

/** `POST /device_authorization` (RFC 8628 §3.1). */
export const deviceAuthorizationEndpoint = {
  path: '/device_authorization',
  methods: ['POST'],
  body: 'form',
  cors: true,
  limit: { byAddress: 'device_authorization', byRefusals: true },
  refusedEvent: 'device.refused',
  discovery: ({ issuer }) => ({ device_authorization_endpoint: `${issuer}/device_authorization` }),
} as const satisfies Declaration

export const createDeviceAuthorizationEndpoint = (options: DeviceAuthorizationOptions): RecordedHandler => {
  const { issuer, deviceCodes, attempts, openCodes, ttlSeconds, audit, clock } = options

  const checkGrant = ({ grant_types }: Client): void => {
    if (!grant_types.includes(deviceCodeGrant))
      throw new OAuthError('unauthorized_client', 'The client may not use this grant type.')
  }

  const slowDown = (retryAfterSeconds: number, reason: string): never => {
    throw new OAuthError('slow_down', said('too_many_from_address'), {
      status: 429,
      reason,
      headers: { 'Retry-After': String(retryAfterSeconds) },
    })
  }

  /** Applies the limits of the address to a public client. Returns the slot of the coming code. */
  const enter = async (client: Client, request: DeviceRequest): Promise<Slot | undefined> => {
    const { address } = request
    if (!isPublicClient(client)) return undefined
    const wait = await takeDeviceStart(attempts, address, clock)
    if (wait > 0) return slowDown(wait, 'too many device codes for one address')
    const entered = await openCodes.enter(address, ttlSeconds, sizeOf(request))
    if (!entered.allowed) return slowDown(entered.retryAfterSeconds, 'too many open device codes for one address')
    return entered.place
  }

  const start = async (deviceCode: string, request: DeviceRequest): Promise<string> => {
    const id = hashOpaqueToken(deviceCode)
    for (let tries = 0; tries < maxTries; tries++) {
      const userCode = newUserCode()
      if (await deviceCodes.start(id, { userCode, request, intervalSeconds }, ttlSeconds)) return userCode
    }
    throw new Error('no user code is free')
  }

  return async (http, seen) => {
    const params = readClientForm(http, parameters, 'resource')
    const { client, dpop } = await options.authenticateClient(
      tokenRequestOf(http, params, deviceAuthorizationEndpoint.path),
      http.signal,
    )
    seen.client = client
    await dpop?.claim()
    checkGrant(client)
    const {
      scope = [],
      offline,
      resource = [],
      ignoredScope,
    } = await checkRequest(steps, {
      params: http.form,
      client,
      rules: options,
      signal: http.signal,
    })
    const request: DeviceRequest = {
      clientId: client.client_id,
      scope,
      ...(offline && { offline }),
      resource,
      address: http.address,
      askedAt: epochSeconds(clock),
    }
    const place = await enter(client, request)
    const deviceCode = newOpaqueToken()
    const userCode = await start(deviceCode, request).catch(async (error: unknown) => {
      await openCodes.leave(place)
      throw error
    })
    await audit.record({
      event: 'device.started',
      request_id: http.requestId,
      client_id: client.client_id,
      scope: request.scope.join(' '),
      resource: request.resource,
      address: request.address,
      ...auditIgnored(ignoredScope),
    })
    return json(200, {
      device_code: deviceCode,
      user_code: formatUserCode(userCode),
      verification_uri: `${issuer}/device`,
      verification_uri_complete: `${issuer}/device?user_code=${formatUserCode(userCode)}`,
      expires_in: ttlSeconds,
      interval: intervalSeconds,
    })
  }
}
