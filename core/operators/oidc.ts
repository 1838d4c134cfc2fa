import type { Config } from '../../config/schema.js'
import type { OutboundRequest } from '../outbound/outbound-fetch.js'
import { Unavailable } from '../unavailable.js'

export type OidcSettings = NonNullable<Config['operators']['oidc']>

/** A sign-in that was begun, as `sign-ins.ts` keeps it, with its `state`. */
export interface BegunOidc {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** The person whom the issuer names. */
export interface OidcPerson {
  readonly sub: string
  /** The values of the claim that names roles. */
  readonly values: readonly string[]
}

export interface OidcSignIn {
  /** The address to which the browser goes. Throws `Unavailable`. */
  begin(redirectUri: string, begun: BegunOidc, signal: AbortSignal): Promise<string>
  /** Redeems the code in `query`. A text says why the answer is refused, in constant words. Throws `Unavailable`. */
  finish(redirectUri: string, query: string, begun: BegunOidc, signal: AbortSignal): Promise<OidcPerson | string>
}

const emptyStatuses = [204, 205, 304]

/** Texts only, so that a claim of another form names no role. */
const textsOf = (claim: unknown): readonly string[] =>
  (Array.isArray(claim) ? claim : [claim]).filter((value): value is string => typeof value === 'string').slice(0, 1000)

const findOutage = (error: unknown): Unavailable | undefined => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof Unavailable) return cause
  return undefined
}

/** The package is optional, so it is loaded when it is needed. */
const loadClient = () =>
  import('openid-client').catch((cause: unknown) => {
    throw new Unavailable('operators', 'no', 'operators.oidc needs the package openid-client', { cause })
  })

/**
 * Sign-in at an OpenID Provider by authorization code with PKCE, `state`, `nonce`, and `iss` (RFC 9207). Requests go
 * out through `request`, by the rules of `outbound`.
 */
export const createOidcSignIn = (inForce: () => OidcSettings | undefined, request: OutboundRequest): OidcSignIn => {
  const settings = (): OidcSettings => {
    const found = inForce()
    if (found === undefined) throw new Unavailable('operators', 'no', 'operators.oidc is not configured')
    return found
  }
  const connect = async (signal: AbortSignal) => {
    const client = await loadClient()
    const { issuer, client_id: id, client_secret: secret } = settings()
    const fetch: import('openid-client').CustomFetch = async (url, { method, headers, body }) => {
      const text = body instanceof URLSearchParams ? body.toString() : body
      if (text !== undefined && text !== null && typeof text !== 'string') throw new TypeError('the body is not text')
      const answer = await request(url, {
        method: method === 'POST' ? 'POST' : 'GET',
        headers: { ...headers },
        signal,
        ...(typeof text === 'string' && { body: Buffer.from(text) }),
      })
      if (answer.status >= 500 || answer.status === 429)
        throw new Unavailable('operators', 'unknown', 'The issuer of operators.oidc does not answer')
      const content = emptyStatuses.includes(answer.status) ? null : Buffer.from(answer.bytes)
      return new Response(content, { status: answer.status, headers: answer.headers })
    }
    const authentication = secret === undefined ? client.None() : client.ClientSecretBasic(secret.reveal())
    const execute = [
      client.enableNonRepudiationChecks,
      ...(issuer.startsWith('http:') ? [client.allowInsecureRequests] : []),
    ]
    const options = { [client.customFetch]: fetch, execute }
    const configuration = await client.discovery(new URL(issuer), id, undefined, authentication, options)
    return { client, configuration }
  }
  const orOutage = (error: unknown): never => {
    throw (
      findOutage(error) ??
      new Unavailable('operators', 'no', 'The issuer of operators.oidc cannot be discovered', { cause: error })
    )
  }

  return {
    async begin(redirectUri, { state, nonce, verifier }, signal) {
      const { client, configuration } = await connect(signal).catch(orOutage)
      const { href } = client.buildAuthorizationUrl(configuration, {
        ...{ redirect_uri: redirectUri, scope: settings().scopes.join(' '), state, nonce },
        ...{ code_challenge: await client.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
      })
      return href
    },
    async finish(redirectUri, query, { state, nonce, verifier }, signal) {
      const { client, configuration } = await connect(signal).catch(orOutage)
      const url = new URL(redirectUri)
      url.search = query
      try {
        const tokens = await client.authorizationCodeGrant(configuration, url, {
          ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
        })
        const claims = tokens.claims()
        if (claims === undefined) return 'there is no ID token'
        const { roles } = settings()
        return { sub: claims.sub, values: roles === undefined ? [] : textsOf(claims[roles.from]) }
      } catch (error) {
        const outage = findOutage(error)
        if (outage !== undefined) throw outage
        if (error instanceof client.AuthorizationResponseError) return 'the issuer answered with an error'
        return 'the answer of the issuer is not good'
      }
    },
  }
}
