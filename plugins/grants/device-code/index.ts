import {
  definePlugin,
  OAuthError,
  type DeviceCodes,
  type ErrorCode,
  type GrantDecision,
  type GrantRequest,
} from '../../../core/api/index.js'

const grantType = 'urn:ietf:params:oauth:grant-type:device_code'

const refuse = (code: ErrorCode, description: string, reason = description): never => {
  throw new OAuthError(code, description, { reason })
}

const invalid = (reason: string): never =>
  refuse('invalid_grant', 'The device code is invalid, revoked or was already used.', reason)

const decide = async (codes: DeviceCodes, request: GrantRequest): Promise<GrantDecision> => {
  const { client, params, scope, resource } = request
  const code = params.get('device_code')
  if (code === undefined) return refuse('invalid_request', 'The parameter device_code is missing.')
  const known = (await codes.find(code)) ?? invalid('unknown device code')
  // Before the poll, so that nobody else makes a device wait (RFC 8628 §5.2).
  if (known.request.clientId !== client.client_id) invalid('device code of another client')
  const poll = await codes.poll(code)
  if (poll.outcome === 'unknown') return invalid('device code was forgotten')
  if (poll.outcome === 'early') return refuse('slow_down', 'The device must wait five more seconds between polls.')
  const { state, approval } = poll.code
  if (state === 'expired') return refuse('expired_token', 'The device code has expired.')
  if (state === 'denied') return refuse('access_denied', 'The user denied access.')
  // One that was redeemed goes on as well: the core has to learn of its second use.
  if (approval === undefined) return refuse('authorization_pending', 'The user has not decided yet.')
  if (!resource.every((name) => approval.resource.includes(name)))
    return refuse('invalid_target', 'The resource is not part of the authorization.')
  if (!scope.every((name) => approval.scope.includes(name)))
    return refuse('invalid_scope', 'The scope exceeds the authorization.')
  return {
    subject: approval.subject,
    scope: approval.scope.filter((name) => client.scope.includes(name)),
    audience: resource.length > 0 ? resource : approval.resource,
    authentication: approval.authentication,
    idToken: true,
    refresh: true,
    grant: approval,
    redeem: { kind: 'device_code', code },
  }
}

/** The device authorization grant (RFC 8628 §3.4). */
export default definePlugin({
  name: 'grants/device-code',
  apiVersion: 1,
  needs: ['deviceCodes'],
  create: (_options, { deviceCodes }) => ({
    grants: [{ grantType, handle: (request) => decide(deviceCodes, request) }],
  }),
})
