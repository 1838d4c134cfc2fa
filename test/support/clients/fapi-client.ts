import { createHash } from 'node:crypto'
import { createProver } from './dpop-proof.js'
import {
  assertionClaims,
  assertionType,
  newAssertionKey,
  signAssertion,
  type AssertionKey,
} from './client-assertion.js'
import { UserAgent } from './user-agent.js'

export const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
export const challenge = createHash('sha256').update(verifier).digest('base64url')
export const redirectUri = 'https://client.example/cb'

export type Answer = Record<string, unknown>
export type Parameters = Readonly<Record<string, string | undefined>>

/** How a request departs from what the profile asks for. */
export interface Departure {
  readonly assertion?: (claims: Answer) => Answer
  readonly key?: AssertionKey
  readonly prover?: ReturnType<typeof createProver>
  /** No proof at all. */
  readonly unproved?: boolean
  readonly form?: Parameters
}

/** The keys of one client, whose metadata names the public half. */
export const keys = {
  ES256: newAssertionKey('ES256'),
  RS256: newAssertionKey('RS256'),
  ES384: newAssertionKey('ES384'),
}

export const fapiMetadata = {
  client_id: 'bank-app',
  token_endpoint_auth_method: 'private_key_jwt',
  security_profile: 'fapi2',
  dpop_bound_access_tokens: true,
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
  consent: 'implicit',
  jwks: { keys: Object.values(keys).map(({ publicJwk }) => publicJwk) },
}

/** A client of the FAPI 2.0 Security Profile: `private_key_jwt`, pushed requests, DPoP with nonces. */
export const createFapiClient = (issuer: string, clock: () => number = Date.now, clientId = fapiMetadata.client_id) => {
  const own = createProver('ES256', clock)
  let nonce: string | undefined

  const assert = ({ assertion = (claims) => claims, key = keys.ES256 }: Departure): string =>
    signAssertion(key, { alg: key.alg, kid: key.kid }, assertion(assertionClaims(clientId, issuer, clock())))

  const send = async (path: string, form: Parameters, departure: Departure) => {
    const { prover = own, unproved = false } = departure
    const sent = {
      ...{ client_id: clientId, client_assertion_type: assertionType, client_assertion: assert(departure) },
      ...form,
      ...departure.form,
    }
    const body = new URLSearchParams(
      Object.entries(sent).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    )
    const headers: Record<string, string> = unproved ? {} : { dpop: prover.proof(issuer + path, nonce) }
    const response = await fetch(issuer + path, { method: 'POST', headers, body })
    nonce = response.headers.get('dpop-nonce') ?? nonce
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
  }

  const post = async (path: string, form: Parameters, departure: Departure = {}) => {
    const first = await send(path, form, departure)
    const answer = first.text.includes('use_dpop_nonce') ? await send(path, form, departure) : first
    const body = answer.type?.startsWith('application/json') ? (JSON.parse(answer.text) as Answer) : {}
    return { ...answer, body }
  }

  const parameters: Parameters = {
    ...{ response_type: 'code', redirect_uri: redirectUri, scope: 'openid offline_access', state: 'the state' },
    ...{ code_challenge: challenge, code_challenge_method: 'S256' },
  }
  const push = (departure: Departure = {}) => post('/par', parameters, departure)
  const urlOf = (requestUri: unknown) =>
    `${issuer}/authorize?${new URLSearchParams({ client_id: clientId, request_uri: String(requestUri) })}`

  return {
    own,
    clientId,
    parameters,
    post,
    push,
    urlOf,
    /** Where the browser leaves for, after a person has signed in. */
    async authorize(person: { readonly username: string; readonly password: string }, departure: Departure = {}) {
      const pushed = await push(departure)
      if (pushed.status !== 201) throw new Error(`/par: ${String(pushed.status)} ${pushed.text}`)
      return new UserAgent().authorize(urlOf(pushed.body['request_uri']), person)
    },
    redeem: (code: string | null, departure: Departure = {}) =>
      post(
        '/token',
        { grant_type: 'authorization_code', code: code ?? '', redirect_uri: redirectUri, code_verifier: verifier },
        departure,
      ),
    refresh: (token: unknown, departure: Departure = {}) =>
      post('/token', { grant_type: 'refresh_token', refresh_token: String(token) }, departure),
    async userinfo(
      access: unknown,
      { scheme = 'DPoP', query = '', id }: { scheme?: string; query?: string; id?: string } = {},
    ) {
      const ath = createHash('sha256').update(String(access)).digest('base64url')
      const ask = async () => {
        const proof = own.proof(`${issuer}/userinfo`, nonce, { claims: { htm: 'GET', ath } })
        const headers = {
          ...(scheme !== '' && { authorization: `${scheme} ${String(access)}` }),
          dpop: proof,
          ...(id !== undefined && { 'x-fapi-interaction-id': id }),
        }
        const response = await fetch(`${issuer}/userinfo${query}`, { headers })
        nonce = response.headers.get('dpop-nonce') ?? nonce
        return response
      }
      const first = await ask()
      return first.headers.get('www-authenticate')?.includes('use_dpop_nonce') === true ? ask() : first
    },
  }
}

export type FapiClient = ReturnType<typeof createFapiClient>
