import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { errors, Provider, type Configuration } from 'oidc-provider'
import { SignJWT, type JWTPayload } from 'jose'
import { freePort } from '../free-port.js'

export interface UpstreamPerson {
  readonly sub: string
  readonly claims: Record<string, unknown>
  readonly acr?: string
  readonly amr?: string[]
}

export interface UpstreamProvider extends AsyncDisposable {
  readonly issuer: string
  readonly provider: Provider
  /** Who signs in next; undefined: the person refuses. */
  person: UpstreamPerson | undefined
  /** Answers to a path by something else than the provider; false: the provider answers. */
  instead: (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>
  /** What it would sign. */
  sign(claims: JWTPayload, header?: { readonly typ: string }): Promise<string>
  /** Sends a logout token to a client. */
  signOut(clientId: string, sub: string): Promise<void>
  /** Requests so far: method and path. */
  readonly asked: readonly string[]
}

/** A real OpenID Provider (oidc-provider) on loopback, at a port, whose one person signs in without a page. It has new keys. */
export const startUpstream = async (
  clients: (issuer: string) => Configuration['clients'],
  at?: number,
): Promise<UpstreamProvider> => {
  const port = at ?? (await freePort())
  const issuer = `http://127.0.0.1:${port}`
  const asked: string[] = []
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const kid = randomUUID()
  const jwk = { ...privateKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' }
  const provider = new Provider(issuer, {
    clients: clients(issuer) ?? [],
    jwks: { keys: [jwk] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    enabledJWA: { clientAuthSigningAlgValues: ['ES256', 'PS256', 'RS256'], idTokenSigningAlgValues: ['ES256'] },
    claims: {
      openid: ['sub', 'acr', 'amr'],
      profile: ['name', 'preferred_username'],
      email: ['email'],
      sid: null,
    },
    conformIdTokenClaims: false,
    acrValues: ['urn:corp:1', 'urn:corp:2'],
    cookies: { keys: ['test'] },
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
      pushedAuthorizationRequests: { enabled: true },
    },
    // Its own fetch connects to nothing on loopback.
    fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined } as RequestInit),
    interactions: { url: (_, { uid }) => `/sign-in/${uid}` },
    findAccount: (_, sub) => ({ accountId: sub, claims: async () => ({ ...upstream.person?.claims, sub }) }),
    ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  })

  const signIn = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { params } = await provider.interactionDetails(request, response)
    const { person } = upstream
    if (person === undefined) {
      const refused = new errors.AccessDenied('nobody signed in')
      return provider.interactionFinished(request, response, {
        error: refused.error,
        error_description: refused.error_description ?? '',
      })
    }
    const grant = new provider.Grant({ accountId: person.sub, clientId: String(params['client_id']) })
    grant.addOIDCScope(String(params['scope']))
    const login = {
      accountId: person.sub,
      ...(person.acr !== undefined && { acr: person.acr }),
      ...(person.amr !== undefined && { amr: person.amr }),
    }
    await provider.interactionFinished(request, response, { login, consent: { grantId: await grant.save() } })
  }

  const callback = provider.callback()
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(request.url ?? '/', issuer).pathname
    asked.push(`${request.method ?? ''} ${path}`)
    if (await upstream.instead(request, response)) return
    if (path.startsWith('/sign-in/')) return signIn(request, response)
    await callback(request, response)
  }
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error))
    })
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')

  const upstream: UpstreamProvider = {
    issuer,
    provider,
    asked,
    async signOut(clientId, sub) {
      type Told = { backchannelLogout(sub: string, sid: string): Promise<void> }
      await ((await provider.Client.find(clientId)) as unknown as Told).backchannelLogout(sub, 'a-session-there')
    },
    sign: (claims, header) => new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid, ...header }).sign(privateKey),
    person: { sub: 'upstream-alice', claims: { name: 'Alice Adams', email: 'alice@corp.example' } },
    instead: () => false,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return upstream
}
