import { checkAuthorizationDetails } from '../../oauth/requests/authorization-details.js'
import { isPublicClient } from '../../oauth/clients/client.js'
import { OAuthError, type ErrorCode } from '../../oauth/errors.js'
import { checkNoneRepeated } from '../../oauth/requests/params.js'
import { checkResources } from '../../oauth/requests/resource.js'
import { findResponseMode, isSignedMode } from '../../oauth/requests/response-mode.js'
import { isFapi } from '../../oauth/clients/security-profile.js'
import { parseScope, scopeRefused } from '../../oauth/requests/scope.js'
import { invalidRequest, nothing, type Step } from './step.js'
import { canSignResponses } from './response-alg.js'
import { isStateTooLong } from './target.js'

/** RFC 6749 §3.1: only `resource` may be repeated (RFC 8707 §2). */
export const checkRepeated: Step = ({ params }) => {
  checkNoneRepeated(params, 'resource')
  return nothing
}

export const checkState: Step = ({ params }) => {
  if (isStateTooLong(params.values.get('state') ?? '')) invalidRequest('The state is too long.')
  return nothing
}

export const checkResponseMode: Step = ({ params, client, rules }) => {
  const mode = findResponseMode(params.values.get('response_mode'))
  if (isFapi(client) && rules.messageSigning.includes('response') && (mode === undefined || !isSignedMode(mode)))
    invalidRequest('This client must ask for a signed response: response_mode=jwt.')
  if (mode !== undefined && (!isSignedMode(mode) || canSignResponses(client, rules))) return nothing
  throw new OAuthError('unsupported_response_mode', 'The response mode is not supported.')
}

export const checkGrantAllowed: Step = ({ client }) => {
  if (client.grant_types.includes('authorization_code')) return nothing
  throw new OAuthError('unauthorized_client', 'The client may not use the authorization code grant.')
}

/** A set of names: order and repetition are ignored (RFC 6749 §3.1.1). */
export const checkResponseType: Step = ({ params, client }) => {
  const names = new Set(params.values.get('response_type')?.split(' ').filter(Boolean))
  if (names.size === 0) invalidRequest('The parameter response_type is missing.')
  if (names.size > 1 || !names.has('code'))
    throw new OAuthError('unsupported_response_type', 'The response type is not supported.')
  if (!client.response_types.includes('code'))
    throw new OAuthError('unauthorized_client', 'The client may not use this response type.')
  return nothing
}

/** Features that are refused by name (OIDC Core §6, §7.2.1; RFC 9396 §5). */
const refusedParameters: ReadonlyMap<string, ErrorCode> = new Map([
  ['request_uri', 'request_uri_not_supported'],
  ['registration', 'registration_not_supported'],
])

export const refuseUnsupported: Step = ({ params }) => {
  for (const [name, code] of refusedParameters)
    if (params.values.has(name)) throw new OAuthError(code, `The parameter ${name} is not supported.`)
  return nothing
}

/**
 * RFC 6749 §3.3: there is no default scope, so one must be requested. Unknown scopes are ignored, unless the
 * deployment refuses them (OIDC Core §3.1.2.1), and the answer of `/token` states what was granted. Scopes that only
 * this client may not have are refused.
 */
export const readScope: Step = ({ params, client, rules: { scopesSupported, unknownScopes } }) => {
  const asked = parseScope(params.values.get('scope'))
  if (asked.length === 0) throw new OAuthError('invalid_scope', 'The parameter scope is missing.')
  const known = asked.filter((name) => scopesSupported.includes(name))
  if (known.length === 0 || (unknownScopes === 'refuse' && known.length < asked.length)) throw scopeRefused()
  if (!known.every((name) => client.scope.includes(name))) throw scopeRefused()
  const ignored = asked.filter((name) => !known.includes(name))
  return { scope: known, ...(ignored.length > 0 && { ignoredScope: ignored }) }
}

/**
 * `offline_access` is for OpenID requests. Without `openid`, the registration alone gives a refresh token, unless the
 * deployment refuses that (RFC 6749 §1.5).
 */
export const readOffline: Step = ({ client, rules: { refreshWithoutOpenid }, before: { scope = [] } }) => {
  const renews = refreshWithoutOpenid && client.grant_types.includes('refresh_token')
  return renews && !scope.includes('openid') && !scope.includes('offline_access') ? { offline: true } : nothing
}

export const readResource: Step = ({ params, client, rules }) => ({
  resource: checkResources(params.all('resource'), client, rules.defaultAudience),
})

/** RFC 9396 §3. */
export const readAuthorizationDetails: Step = async ({ params, client, rules, signal }) => {
  const text = params.values.get('authorization_details')
  if (text === undefined) return nothing
  const { detailsTypes: types, defaultAudience } = rules
  return { authorizationDetails: await checkAuthorizationDetails(text, { client, types, defaultAudience, signal }) }
}

/** base64url of 32 bytes: the last character carries four bits (RFC 7636 §4.2). */
const s256Challenge = /^[\w-]{42}[AEIMQUYcgkosw048]$/

/** Only S256: `plain`, the meaning of an absent method, protects nobody (RFC 9700 §2.1.1). */
export const readCodeChallenge: Step = ({ params, client }) => {
  const codeChallenge = params.values.get('code_challenge')
  const method = params.values.get('code_challenge_method')
  if (codeChallenge === undefined) {
    if (method !== undefined) invalidRequest('The parameter code_challenge is missing.')
    if (isPublicClient(client) || isFapi(client)) invalidRequest('This client must use PKCE (RFC 7636).')
    return nothing
  }
  if (method !== 'S256') invalidRequest('The parameter code_challenge_method must be S256.')
  if (!s256Challenge.test(codeChallenge))
    invalidRequest('The parameter code_challenge is not the base64url of 32 bytes.')
  return { codeChallenge }
}

/** A key's thumbprint (RFC 7638) to bind the code to (RFC 9449 §10): base64url of 32 bytes, like a challenge. */
export const readDpopJkt: Step = ({ params }) => {
  const dpopJkt = params.values.get('dpop_jkt')
  if (dpopJkt === undefined) return nothing
  if (!s256Challenge.test(dpopJkt)) invalidRequest('The parameter dpop_jkt is malformed.')
  return { dpopJkt }
}
