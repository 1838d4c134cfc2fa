import * as oauth from 'oauth4webapi'
import * as oidc from 'openid-client'
import { beforeAll, describe, expect, it } from 'vitest'
import { discover } from '../support/clients/authorization.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { freePort } from '../support/free-port.js'
import { askSilently } from '../support/server/opened.js'
import { redirectUri, startServer, webClient } from '../support/server/server.js'
import { atSignet, known, startSignetUpstream, upstreamPlugin, type Upstream } from '../support/server/two-upstreams.js'

// Signet whose only way to sign in is another Signet, and stock relying parties of it.

const keep = disposeAfterAll()
const signedOut = 'https://client.example/signed-out'
let issuer: string
let upstream: Upstream
beforeAll(async () => {
  const port = await freePort()
  issuer = `http://127.0.0.1:${String(port)}`
  upstream = atSignet('bank', keep(await startSignetUpstream(issuer, 'bank')).issuer)
  keep(
    await startServer({
      configure: ({ accounts: _, ...written }) => ({
        ...written,
        issuer,
        listen: { host: '127.0.0.1', port },
        outbound: { allow_private_addresses: true },
        acr_values_supported: [{ acr: '2', methods: ['hwk'] }],
        plugins: [
          ...(written['plugins'] as { use: string }[]).filter(({ use }) => use !== 'plugins/login/password'),
          upstreamPlugin('bank', upstream.issuer),
        ],
        clients: [{ ...webClient, post_logout_redirect_uris: [signedOut] }],
      }),
    }),
  )
})

const asked = { scope: 'openid profile email offline_access', acr_values: '2', max_age: '600' }

/** What a relying party does, by its library. */
interface RelyingParty {
  /** Where the browser goes, and what the answer gives. */
  begin(): Promise<{ readonly url: URL; finish(answer: URL): Promise<Tokens> }>
  refresh(refreshToken: string): Promise<Tokens>
  userinfo(accessToken: string, sub: string): Promise<object>
  logoutUrl(idToken: string, state: string): Promise<URL>
}
interface Tokens {
  readonly access_token: string
  readonly refresh_token?: string
  readonly id_token?: string
  readonly claims: oauth.IDToken | undefined
}

const byOpenidClient = async (): Promise<RelyingParty> => {
  const client = await discover(issuer, 'web', oidc.ClientSecretBasic(webClient.client_secret), 'ES256')
  const read = (tokens: Awaited<ReturnType<typeof oidc.refreshTokenGrant>>): Tokens =>
    Object.assign({}, tokens, { claims: tokens.claims() })
  return {
    async begin() {
      const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
      const checks = { pkceCodeVerifier, expectedState: oidc.randomState(), expectedNonce: oidc.randomNonce() }
      const url = oidc.buildAuthorizationUrl(client, {
        ...{ redirect_uri: redirectUri, ...asked, state: checks.expectedState, nonce: checks.expectedNonce },
        code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
      })
      const finish = async (answer: URL) =>
        read(await oidc.authorizationCodeGrant(client, answer, { ...checks, maxAge: 600, idTokenExpected: true }))
      return { url, finish }
    },
    refresh: async (refreshToken) => read(await oidc.refreshTokenGrant(client, refreshToken)),
    userinfo: (accessToken, sub) => oidc.fetchUserInfo(client, accessToken, sub),
    logoutUrl: async (id_token_hint, state) =>
      oidc.buildEndSessionUrl(client, { post_logout_redirect_uri: signedOut, id_token_hint, state }),
  }
}

const byOauth4webapi = async (): Promise<RelyingParty> => {
  const insecure = { [oauth.allowInsecureRequests]: true }
  const at = new URL(issuer)
  const as = await oauth.processDiscoveryResponse(at, await oauth.discoveryRequest(at, insecure))
  const client: oauth.Client = { client_id: 'web', id_token_signed_response_alg: 'ES256' }
  const authentication = oauth.ClientSecretBasic(webClient.client_secret)
  const read = async (response: Response, tokens: oauth.TokenEndpointResponse): Promise<Tokens> => {
    await oauth.validateApplicationLevelSignature(as, response, insecure)
    return { ...tokens, claims: oauth.getValidatedIdTokenClaims(tokens) }
  }
  return {
    async begin() {
      const [verifier, state, nonce] = [
        oauth.generateRandomCodeVerifier(),
        oauth.generateRandomState(),
        oauth.generateRandomNonce(),
      ]
      const query = new URLSearchParams({
        ...{ client_id: 'web', redirect_uri: redirectUri, response_type: 'code', ...asked, state, nonce },
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
      const finish = async (answer: URL) => {
        const valid = oauth.validateAuthResponse(as, client, answer, state)
        const response = await oauth.authorizationCodeGrantRequest(
          ...([as, client, authentication, valid, redirectUri, verifier, insecure] as const),
        )
        const rules = { expectedNonce: nonce, maxAge: 600, requireIdToken: true }
        return read(response, await oauth.processAuthorizationCodeResponse(as, client, response, rules))
      }
      return { url: new URL(`${String(as.authorization_endpoint)}?${query}`), finish }
    },
    async refresh(refreshToken) {
      const response = await oauth.refreshTokenGrantRequest(as, client, authentication, refreshToken, insecure)
      return read(response, await oauth.processRefreshTokenResponse(as, client, response))
    },
    userinfo: async (accessToken, sub) =>
      oauth.processUserInfoResponse(as, client, sub, await oauth.userInfoRequest(as, client, accessToken, insecure)),
    logoutUrl: async (id_token_hint, state) => {
      const query = new URLSearchParams({ post_logout_redirect_uri: signedOut, id_token_hint, state })
      return new URL(`${String(as.end_session_endpoint)}?${query}`)
    },
  }
}

describe('relying parties behind an upstream OpenID Provider', () => {
  it.each([
    ['openid-client', byOpenidClient],
    ['oauth4webapi', byOauth4webapi],
  ])('%s signs in without a page of Signet in between, refreshes and signs out', async (_library, connect) => {
    const party = await connect()
    const [here, there] = [new UserAgent(), new UserAgent()]
    const before = Math.floor(Date.now() / 1000)
    const signIn = async () => {
      const { url, finish } = await party.begin()
      const { left } = await here.follow(url)
      expect(left?.origin).toBe(upstream.issuer)
      const visited = await upstream.visit(left!, there)
      return {
        asked: visited.asked,
        tokens: await finish(await here.authorize(visited.back, { username: '', password: '' })),
      }
    }
    const { tokens } = await signIn()
    const { claims, access_token, refresh_token = '', id_token = '' } = tokens
    expect(claims).toMatchObject({ iss: issuer, acr: '2', amr: ['pwd'] })
    expect(claims?.auth_time).toBeGreaterThanOrEqual(before)
    const sub = claims?.sub ?? ''
    expect(await party.userinfo(access_token, sub)).toEqual({ sub, ...known })

    const refreshed = await party.refresh(refresh_token)
    expect(refreshed.claims).toMatchObject({ sub, auth_time: claims?.auth_time, acr: '2', amr: ['pwd'] })
    expect(await party.userinfo(refreshed.access_token, sub)).toEqual({ sub, ...known })

    const { left } = await here.follow(await party.logoutUrl(id_token, 'st4te'))
    expect(left?.href).toBe(`${signedOut}?state=st4te`)
    expect(await askSilently(issuer, here)).toBe('login_required')
    // The person is still signed in there, and is the same one here.
    const again = await signIn()
    expect([again.asked, again.tokens.claims?.sub]).toEqual([false, sub])
  })

  it('[SI19] says only once that the provider signed another person in', async () => {
    const party = await byOpenidClient()
    const here = new UserAgent()
    const { url, finish } = await party.begin()
    const { back } = await upstream.visit((await here.follow(url)).left!, new UserAgent())
    const { id_token: id_token_hint = '' } = await finish(await here.authorize(back, { username: '', password: '' }))
    const again = (await party.begin()).url
    for (const [name, value] of Object.entries({ id_token_hint, prompt: 'login' })) again.searchParams.set(name, value)
    const other = await upstream.visit((await here.follow(again)).left!, new UserAgent(), 'bob')
    const page = await here.follow(other.back)
    expect(page.left).toBeUndefined()
    const { left } = await here.submit(page.url, await page.response.text(), { method: 'bank', begin: '1' })
    expect(left?.origin).toBe(upstream.issuer)
  })
})
