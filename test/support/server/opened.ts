import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { deviceGrant, personAt, tvClient, withDevices } from '../clients/device.js'
import { redirectUri, webClient } from './server.js'
import { UserAgent } from '../clients/user-agent.js'

type Json = Record<string, unknown>
type Credentials = { readonly username: string; readonly password: string }

const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'
const scope = 'openid email offline_access'
const basic = `Basic ${btoa(`${webClient.client_id}:${webClient.client_secret}`)}`

/** A configuration in which a sign-in can open all that there is: the device flow and token exchange, too. */
export const withEverything = (written: Json): Json => {
  const withTv = withDevices(written)
  const web = { ...webClient, grant_types: [...webClient.grant_types, exchangeGrant] }
  return {
    ...withTv,
    token_exchange_enabled: true,
    plugins: [...(withTv['plugins'] as object[]), { use: 'plugins/grants/token-exchange' }],
    clients: (withTv['clients'] as { client_id: string }[]).map((one) => (one.client_id === 'web' ? web : one)),
  }
}

const post = async (url: string, form: Record<string, string>, authorization?: string): Promise<Json> => {
  const headers = authorization === undefined ? {} : { authorization }
  const response = await fetch(url, { method: 'POST', headers, body: new URLSearchParams(form) })
  return { status: response.status, ...((await response.json()) as Json) }
}

const authorizeUrl = (at: string, more: Record<string, string> = {}) => {
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    client_id: webClient.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...more,
  })
  return { url: `${at}/authorize?${query}`, verifier }
}

/** A code for `web`, and what redeems it. The person signs in and consents where the pages ask for it. */
const getCode = async (agent: UserAgent, issuer: string, who: Credentials) => {
  const { url, verifier } = authorizeUrl(issuer)
  const back = await agent.authorize(url, who)
  return {
    grant_type: 'authorization_code',
    code: back.searchParams.get('code') ?? '',
    code_verifier: verifier,
    redirect_uri: redirectUri,
  }
}

/** Signs somebody in in a new browser and opens all that a sign-in opens; a code and an approved device wait. */
export const openAll = async (issuer: string, who: Credentials) => {
  const agent = new UserAgent()
  const tokens = await post(`${issuer}/token`, await getCode(agent, issuer, who), basic)
  expect(tokens).toMatchObject({ status: 200 })
  const code = await getCode(agent, issuer, who)
  const started = await post(`${issuer}/device_authorization`, { client_id: tvClient.client_id, scope })
  await personAt(agent, issuer).answer(who, String(started['user_code']))
  const device = {
    grant_type: deviceGrant,
    device_code: String(started['device_code']),
    client_id: tvClient.client_id,
  }
  const { access_token, refresh_token } = tokens as Record<string, string>
  return { agent, accessToken: access_token ?? '', refreshToken: refresh_token ?? '', code, device }
}

export type Opened = Awaited<ReturnType<typeof openAll>>

/** What prompt=none says in this browser: `code`, or the error. `at` may be any replica. */
export const askSilently = async (at: string, agent: UserAgent): Promise<string> => {
  const { url } = authorizeUrl(at, { prompt: 'none' })
  const answer = new URL((await agent.fetch(url)).headers.get('location') ?? '')
  return answer.searchParams.get('error') ?? (answer.searchParams.has('code') ? 'code' : answer.href)
}

/** What becomes of all that was opened and can be asked as often as one likes. `at` may be any replica. */
export const stateOf = async (at: string, { agent, accessToken, refreshToken }: Opened): Promise<Json> => {
  const userinfo = await fetch(`${at}/userinfo`, { headers: { authorization: `Bearer ${accessToken}` } })
  const isActive = async (token: string) => (await post(`${at}/introspect`, { token }, basic))['active']
  const subject = { subject_token: accessToken, subject_token_type: 'urn:ietf:params:oauth:token-type:access_token' }
  const exchanged = await post(`${at}/token`, { grant_type: exchangeGrant, ...subject }, basic)
  const refreshed = await post(`${at}/token`, { grant_type: 'refresh_token', refresh_token: refreshToken }, basic)
  return {
    session: await askSilently(at, agent),
    refresh: refreshed['error'] ?? refreshed['status'],
    userinfo: userinfo.status,
    introspection: [await isActive(accessToken), await isActive(refreshToken)],
    exchange: exchanged['error'] ?? exchanged['status'],
  }
}

export const alive = { session: 'code', refresh: 200, userinfo: 200, introspection: [true, true], exchange: 200 }
export const over = {
  session: 'login_required',
  refresh: 'invalid_grant',
  userinfo: 401,
  introspection: [false, false],
  exchange: 'invalid_request',
}

/** What the code and the device that waited get, once. */
export const redeemLeft = async (at: string, { code, device }: Opened): Promise<unknown[]> => {
  const answers = [await post(`${at}/token`, code, basic), await post(`${at}/token`, device)]
  return answers.map((answer) => answer['error'] ?? answer['status'])
}
