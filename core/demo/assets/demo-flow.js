import { toBase64Url } from './demo-jwt.js'

const pendingKey = 'signet-demo-sign-in'

const random = () => toBase64Url(crypto.getRandomValues(new Uint8Array(32)))

/** Returns the JSON of an answer, and undefined for one without content. Throws the provider's refusal. */
export const readAnswer = async (response) => {
  if (response.status === 204) return undefined
  const text = await response.text()
  let body
  try {
    body = JSON.parse(text)
  } catch {
    throw Object.assign(new Error(`${response.status} without a JSON answer`), { status: response.status })
  }
  if (response.ok) return body
  const message = body.error_description ? `${body.error}: ${body.error_description}` : `${body.error}`
  throw Object.assign(new Error(message), { code: body.error, status: response.status })
}

const getJson = async (url, init) => await readAnswer(await fetch(url, { credentials: 'omit', ...init }))

/**
 * Opens a client of the provider at `issuer`. It works as any other client would: it knows the issuer and reads the
 * rest.
 */
export const openClient = async ({ issuer, clientId, deviceClientId, scope, username, ...shop }) => {
  const provider = await getJson(`${issuer}/.well-known/openid-configuration`)
  if (provider.issuer !== issuer) throw new Error('The discovery document belongs to another issuer.')
  const redirectUri = `${issuer}/`
  const own = { client_id: clientId, scope, post_logout_redirect_uris: [redirectUri] }

  const post = async (url, parameters, headers = {}) =>
    await getJson(url, { method: 'POST', headers, body: new URLSearchParams(parameters) })
  const asShop = async (url, parameters) =>
    await post(url, parameters, { Authorization: `Basic ${btoa(`${shop.shopId}:${shop.shopSecret}`)}` })
  const requestTokens = async (parameters) => await post(provider.token_endpoint, parameters)

  return {
    /**
     * Leaves this page (OIDC Core §3.1.2.1, RFC 7636 §4.3). `details` are of a kind that `hasDetails` knows (RFC
     * 9396). `registration` is that of another client that this page plays (RFC 7591 §3.2.1).
     */
    startSignIn: async ({ details, registration = own } = {}) => {
      const pending = {
        state: random(),
        nonce: random(),
        verifier: random(),
        clientId: registration.client_id,
        returnsHere: registration.post_logout_redirect_uris?.includes(redirectUri) === true,
      }
      sessionStorage.setItem(pendingKey, JSON.stringify(pending))
      const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(pending.verifier))
      const parameters = new URLSearchParams({
        response_type: 'code',
        client_id: registration.client_id,
        redirect_uri: redirectUri,
        scope: registration.scope,
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: toBase64Url(digest),
        code_challenge_method: 'S256',
        prompt: 'consent',
        login_hint: username,
      })
      if (details) parameters.set('authorization_details', JSON.stringify([details]))
      location.assign(`${provider.authorization_endpoint}?${parameters}`)
    },

    /**
     * Returns the client, the tokens and the nonce for the answer in `parameters`, or undefined when they hold none.
     */
    finishSignIn: async (parameters) => {
      if (!parameters.has('code') && !parameters.has('error')) return undefined
      const pending = JSON.parse(sessionStorage.getItem(pendingKey) ?? 'null')
      sessionStorage.removeItem(pendingKey)
      if (!pending || parameters.get('state') !== pending.state) {
        throw new Error('This response does not match a sign-in started in this tab.')
      }
      if (parameters.get('iss') !== issuer) throw new Error('This response comes from another issuer.')
      if (parameters.has('error')) {
        throw new Error([parameters.get('error'), parameters.get('error_description')].filter(Boolean).join(': '))
      }
      const tokens = await requestTokens({
        grant_type: 'authorization_code',
        client_id: pending.clientId,
        code: parameters.get('code'),
        redirect_uri: redirectUri,
        code_verifier: pending.verifier,
      })
      return { clientId: pending.clientId, tokens, nonce: pending.nonce, returnsHere: pending.returnsHere }
    },

    /** Leaves this page (RP-Initiated Logout §2). */
    signOut: ({ clientId: client, tokens, returnsHere }) => {
      const parameters = { client_id: client, id_token_hint: tokens.id_token }
      if (returnsHere) parameters.post_logout_redirect_uri = redirectUri
      location.assign(`${provider.end_session_endpoint}?${new URLSearchParams(parameters)}`)
    },

    hasDetails: (type) => provider.authorization_details_types_supported?.includes(type) === true,

    registrationEndpoint: provider.registration_endpoint,

    hasDeviceFlow: provider.device_authorization_endpoint !== undefined,

    /** Requests codes for a device, which this page plays (RFC 8628 §3.1). */
    startDevice: async () => await post(provider.device_authorization_endpoint, { client_id: deviceClientId, scope }),

    /** Makes one poll (RFC 8628 §3.4). No browser took part, so there is no nonce. */
    pollDevice: async (deviceCode) => {
      const tokens = await requestTokens({
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        client_id: deviceClientId,
        device_code: deviceCode,
      })
      return { clientId: deviceClientId, tokens, nonce: undefined }
    },

    hasApprovals: shop.shopId !== undefined && provider.backchannel_authentication_endpoint !== undefined,

    /**
     * Asks the person of the demo for approval, wherever that person is (OpenID CIBA Core §7.1). `details` are as in
     * `startSignIn`.
     */
    startApproval: async (message, details) =>
      await asShop(provider.backchannel_authentication_endpoint, {
        scope: shop.shopScope,
        login_hint: username,
        binding_message: message,
        authorization_details: JSON.stringify([details]),
      }),

    /** Makes one poll (OpenID CIBA Core §10.1). */
    pollApproval: async (authReqId) => {
      const grant = { grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id: authReqId }
      return { clientId: shop.shopId, tokens: await asShop(provider.token_endpoint, grant), nonce: undefined }
    },

    refresh: async ({ clientId: client, tokens }) =>
      await requestTokens({ grant_type: 'refresh_token', client_id: client, refresh_token: tokens.refresh_token }),

    fetchUserinfo: async (accessToken) =>
      await getJson(provider.userinfo_endpoint, { headers: { Authorization: `Bearer ${accessToken}` } }),

    fetchKeySet: async () => await getJson(provider.jwks_uri),
  }
}
