import { createHash, randomBytes } from 'node:crypto'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { redirectUri, webClient } from '../server/server.js'
import type { UserAgent } from './user-agent.js'

export const adminToken = 'a-token-of-the-admin-listener'
export const signInUrl = 'https://sign-in.bank.example/start'

/** Makes the service of an organisation one way to sign in, beside the others; `more` are its other options. */
export const withHandoff =
  (more: object = {}) =>
  (written: Record<string, unknown>): Record<string, unknown> => ({
    ...written,
    admin: { host: '127.0.0.1', port: 0, token: adminToken },
    plugins: [
      ...(written['plugins'] as object[]),
      { use: 'plugins/login/handoff', options: { id: 'own', sign_in_url: signInUrl, ...more } },
    ],
  })

export interface HandoffReply {
  readonly status: number
  readonly retryAfter: string | null
  readonly redirect_to?: string
}

/** The service: it answers on the admin listener. */
export const answerHandoff = async (
  admin: string,
  interaction: unknown,
  verb: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<HandoffReply> => {
  const response = await fetch(new URL(`/interactions/${String(interaction)}/${verb}`, admin), {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const answer = (await response.json()) as { redirect_to?: string }
  return { status: response.status, retryAfter: response.headers.get('retry-after'), ...answer }
}

/** A page from which there is no way on, or where the browser left the issuer. */
export type Arrived = { readonly left: URL } | { readonly left?: never; readonly status: number; readonly html: string }

const verifier = randomBytes(32).toString('base64url')
const code_challenge = createHash('sha256').update(verifier).digest('base64url')

/** People who are handed off; each request of a browser goes where `pick` says, to any process of the issuer. */
export const createHandedOff = (issuer: string, pick: () => string = () => issuer) => {
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks.json`))

  const visit = async (agent: UserAgent, start: string | URL): Promise<Arrived> => {
    let url = new URL(start)
    let init: RequestInit = {}
    for (let steps = 0; steps < 20; steps++) {
      const response = await agent.fetch(new URL(url.pathname + url.search, pick()), init)
      init = {}
      const location = response.headers.get('location')
      if (location !== null) {
        await response.body?.cancel()
        url = new URL(location, new URL(url.pathname, issuer))
        if (url.origin !== issuer) return { left: url }
        continue
      }
      const html = await response.text()
      const { status } = response
      // The button of the method without a problem, or the page for consent.
      const isBefore = html.includes('value="own"') && !html.includes('role="alert"')
      const isConsent = html.includes('id="consent-allow"')
      if (!isBefore && !isConsent) return { status, html }
      const fields: Record<string, string> = isConsent ? { decision: 'allow' } : { method: 'own', begin: '1' }
      const [, csrf = ''] =
        /name="csrf"[^>]*value="([^"]+)"/.exec(html) ?? /value="([^"]+)"[^>]*name="csrf"/.exec(html) ?? []
      init = { method: 'POST', body: new URLSearchParams({ csrf, ...fields }) }
    }
    throw new Error('the way does not end')
  }

  return {
    visit,

    /** To the service of the organisation: what it is asked. */
    async begin(agent: UserAgent, more: Readonly<Record<string, string>> = {}) {
      const query = { client_id: 'web', redirect_uri: redirectUri, response_type: 'code' }
      const scope = 'openid profile email offline_access'
      const sent = { ...query, scope, prompt: 'consent', code_challenge, code_challenge_method: 'S256', ...more }
      const { left } = await visit(agent, `${issuer}/authorize?${new URLSearchParams(sent)}`)
      const rules = { issuer, audience: signInUrl, typ: 'handoff+jwt' }
      const request = left?.searchParams.get('request') ?? ''
      return (await jwtVerify(request, keys, rules)).payload as { readonly interaction: string; readonly iat: number }
    },

    token: (form: Readonly<Record<string, string>>) => {
      const headers = { authorization: `Basic ${btoa(`${webClient.client_id}:${webClient.client_secret}`)}` }
      return fetch(`${pick()}/token`, { method: 'POST', headers, body: new URLSearchParams(form) })
    },

    codeForm: (back: URL | undefined) => ({
      grant_type: 'authorization_code',
      code: back?.searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
      code_verifier: verifier,
    }),

    userinfo: (access: string) => fetch(`${pick()}/userinfo`, { headers: { authorization: `Bearer ${access}` } }),
  }
}

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}
