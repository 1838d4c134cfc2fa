import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import * as oidc from 'openid-client'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { discover, newAuthorization } from '../support/clients/authorization.js'
import {
  person,
  publicClient,
  redirectUri,
  startServer,
  subject,
  webClient,
  type TestServer,
} from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'

const scope = 'openid profile email offline_access'

describeWith('chromium', 'a person in a browser, a stock client behind it', (executablePath) => {
  let browser: Browser
  let server: TestServer

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath })
    server = await startServer()
  })
  afterAll(async () => {
    await browser.close()
    await server[Symbol.asyncDispose]()
  })

  /** Signs in and allows, by hand as it were; the client's own site is what the redirect comes to. */
  const walk = async (url: URL): Promise<URL> => {
    await using context = await browser.newContext()
    await context.route(`${redirectUri}**`, (route) => route.fulfill({ body: 'back at the client' }))
    const page = await context.newPage()
    await page.goto(url.href)
    expect(await page.locator('h1').innerText()).toBe('Sign in')
    await page.fill('#username', person.username)
    await page.fill('#password', 'not the password')
    await page.click('#login-submit')
    await page.fill('#password', person.password)
    await page.click('#login-submit')
    expect(await page.locator('h1').innerText()).toBe('Allow access')
    await page.click('#consent-allow')
    await page.waitForURL(`${redirectUri}**`)
    return new URL(page.url())
  }

  it('openid-client: discovery, code with PKCE, userinfo, refresh', async () => {
    const authentication = oidc.ClientSecretBasic(webClient.client_secret)
    const configuration = await discover(server.issuer, webClient.client_id, authentication, 'ES256')
    const { url, checks } = await newAuthorization(configuration)
    const callback = await walk(url)
    const tokens = await oidc.authorizationCodeGrant(configuration, callback, checks)
    expect(await oidc.fetchUserInfo(configuration, tokens.access_token, subject)).toMatchObject({ name: 'Alice Adams' })
    const refreshed = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
    expect(refreshed.claims()?.sub).toBe(subject)
  })

  it('oauth4webapi: discovery, code with PKCE as a public client, userinfo, rotation, jose on the key set', async () => {
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(server.issuer)
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure))
    const client: oauth.Client = { client_id: publicClient.client_id, id_token_signed_response_alg: 'ES256' }
    const authentication = oauth.None()
    const verifier = oauth.generateRandomCodeVerifier()
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
    const url = new URL(as.authorization_endpoint ?? '')
    url.search = new URLSearchParams({
      client_id: client.client_id,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope,
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).toString()
    const params = oauth.validateAuthResponse(as, client, await walk(url), state)
    const response = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      authentication,
      params,
      redirectUri,
      verifier,
      insecure,
    )
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    })
    await oauth.validateApplicationLevelSignature(as, response, insecure)

    const userinfo = await oauth.userInfoRequest(as, client, tokens.access_token, insecure)
    expect(await oauth.processUserInfoResponse(as, client, subject, userinfo)).toMatchObject({
      email: 'alice@bank.example',
    })
    const again = await oauth.refreshTokenGrantRequest(as, client, authentication, tokens.refresh_token ?? '', insecure)
    const refreshed = await oauth.processRefreshTokenResponse(as, client, again)
    expect(refreshed.refresh_token).not.toBe(tokens.refresh_token)

    const keys = createRemoteJWKSet(new URL(as.jwks_uri ?? ''))
    for (const { access_token } of [tokens, refreshed]) {
      const { payload } = await jwtVerify(access_token, keys, { issuer: as.issuer, audience: as.issuer, typ: 'at+jwt' })
      expect(payload).toMatchObject({ sub: subject, client_id: 'app' })
    }
  })
})
