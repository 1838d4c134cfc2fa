import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { discover } from '../support/clients/authorization.js'
import { boxClient, deviceGrant, personAt, tvClient, withDevices } from '../support/clients/device.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'

const bob = { username: 'bob', password: 'another correct horse', sub: 'sub-bob' }
const scope = 'openid profile offline_access read'

describe('the device flow', () => {
  let server: TestServer
  let ahead = 0
  beforeAll(async () => {
    const configure = (written: Record<string, unknown>) =>
      withDevices({ ...written, accounts: [...(written['accounts'] as object[]), { ...bob, claims: { name: 'Bob' } }] })
    server = await startServer({ configure, clock: () => Date.now() + ahead })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const anybody = () => personAt(new UserAgent(), server.issuer)

  it('is in the discovery document', async () => {
    const metadata = (await (await fetch(`${server.issuer}/.well-known/openid-configuration`)).json()) as object
    expect(metadata).toMatchObject({
      device_authorization_endpoint: `${server.issuer}/device_authorization`,
      grant_types_supported: expect.arrayContaining([deviceGrant]),
    })
  })

  it('lets another person sign in, and keeps the code that was typed', async () => {
    const config = await discover(server.issuer, tvClient.client_id, oidc.None())
    const { user_code } = await oidc.initiateDeviceAuthorization(config, { scope })
    const agent = new UserAgent()
    const me = personAt(agent, server.issuer)
    const typed = await me.enter(await me.open(person), user_code)
    const [, href = ''] = /id="other-account" href="([^"]+)"/.exec(typed.html) ?? []
    const login = await agent.follow(href.replaceAll('&amp;', '&'))
    const html = await login.response.text()
    expect(html).toContain('id="login-submit"')
    const back = await agent.submit(login.url, html, { ...person })
    expect(back.url.pathname).toBe('/device')
    expect(await back.response.text()).toContain(`value="${user_code}"`)
  })

  it('offers the other people signed in in the same browser, and those left after a sign-out', async () => {
    const config = await discover(server.issuer, tvClient.client_id, oidc.None())
    const { user_code } = await oidc.initiateDeviceAuthorization(config, { scope })
    const agent = new UserAgent()
    const me = personAt(agent, server.issuer)
    const otherOf = async (html: string) => {
      const [, href = ''] = /id="other-account" href="([^"]+)"/.exec(html) ?? []
      const { url, response } = await agent.follow(href.replaceAll('&amp;', '&'))
      return { url, html: await response.text() }
    }
    const login = await otherOf((await me.enter(await me.open(person), user_code)).html)
    const asBob = await agent.submit(login.url, login.html, { username: bob.username, password: bob.password })
    const typed = await me.enter({ html: await asBob.response.text() }, user_code)
    expect(typed.html).toMatch(/id="consent-account">Bob</)
    const select = await otherOf(typed.html)
    const buttonOf = (name: string, html: string) =>
      html.split('<li>').flatMap((row) => (row.includes(name) ? (/value="([^"]+)"/.exec(row)?.[1] ?? []) : []))[0] ?? ''
    const asAlice = await agent.submit(select.url, select.html, { account: buttonOf('Alice', select.html) })
    const page = await asAlice.response.text()
    expect([asAlice.url.pathname, page]).toEqual(['/device', expect.stringMatching(/"consent-account">Alice Adams</)])
    expect(page).toContain(`value="${user_code}"`)

    const logout = await agent.follow(`${server.issuer}/logout`)
    await agent.submit(logout.url, await logout.response.text(), {})
    const left = await agent.follow(`${server.issuer}/device`)
    expect(left.url.pathname).toMatch(/select$/)
    const html = await left.response.text()
    const again = await agent.submit(left.url, html, { account: buttonOf('Bob', html) })
    expect([again.url.pathname, await again.response.text()]).toEqual(['/device', expect.stringContaining('>Bob<')])
  })

  it('counts a sign-in once, so that one person may allow fifteen devices within an hour', async () => {
    for (let count = 0; count < 15; count++) {
      const response = await fetch(`${server.issuer}/device_authorization`, {
        method: 'POST',
        body: new URLSearchParams({ client_id: tvClient.client_id, scope: 'openid' }),
      })
      const { user_code } = (await response.json()) as { user_code: string }
      expect(await anybody().answer(person, user_code)).toMatchObject({ status: 200 })
    }
    ahead += 3_600_000
  })

  it('serves /userinfo in a deployment without /authorize', async () => {
    await using devices = await startServer({
      configure: (written) => ({
        ...withDevices(written),
        grant_types_supported: [deviceGrant],
        clients: [{ ...tvClient, grant_types: [deviceGrant] }],
      }),
    })
    const metadata = await (await fetch(`${devices.issuer}/.well-known/openid-configuration`)).json()
    expect(metadata).toMatchObject({
      userinfo_endpoint: `${devices.issuer}/userinfo`,
      claims_supported: expect.arrayContaining(['email']),
    })
    expect(metadata).not.toHaveProperty('authorization_endpoint')
    expect((await fetch(`${devices.issuer}/userinfo`)).status).toBe(401)
  })

  it('is run by openid-client: tokens, refresh, userinfo', async () => {
    const config = await discover(server.issuer, tvClient.client_id, oidc.None())
    const device = await oidc.initiateDeviceAuthorization(config, { scope })
    expect(device).toMatchObject({
      device_code: expect.stringMatching(/^[\w-]{43}$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${server.issuer}/device`,
      verification_uri_complete: `${server.issuer}/device?user_code=${device.user_code}`,
      expires_in: 600,
      interval: 5,
    })
    const approved = await anybody().answer(person, device.user_code)
    expect(approved).toMatchObject({ status: 200, html: expect.stringContaining('Device connected') })

    const tokens = await oidc.pollDeviceAuthorizationGrant(config, device)
    expect(tokens.scope).toBe(scope)
    const keys = createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`))
    const { payload } = await jwtVerify(tokens.access_token, keys, { issuer: server.issuer, typ: 'at+jwt' })
    expect(payload).toMatchObject({ sub: subject, client_id: 'tv', aud: server.issuer, scope })
    expect(tokens.claims()).toMatchObject({ sub: subject, aud: 'tv', amr: ['pwd'], auth_time: expect.any(Number) })
    expect(tokens.claims()).not.toHaveProperty('nonce')
    const refreshed = await oidc.refreshTokenGrant(config, String(tokens.refresh_token))
    expect(refreshed.claims()).toMatchObject({ sub: subject, sid: tokens.claims()?.['sid'] })
    expect(await oidc.fetchUserInfo(config, refreshed.access_token, subject)).toMatchObject({ name: 'Alice Adams' })
  }, 30_000)

  it('is run by oauth4webapi for a confidential client: pending, slow_down, tokens, and a refusal', async () => {
    const as = await oauth.processDiscoveryResponse(
      new URL(server.issuer),
      await oauth.discoveryRequest(new URL(server.issuer), { [oauth.allowInsecureRequests]: true }),
    )
    const client: oauth.Client = { client_id: boxClient.client_id, id_token_signed_response_alg: 'ES256' }
    const authentication = oauth.ClientSecretBasic(boxClient.client_secret)
    const insecure = { [oauth.allowInsecureRequests]: true } as const
    const ask = async () => {
      const asked = { scope: 'openid read' }
      const response = await oauth.deviceAuthorizationRequest(as, client, authentication, asked, insecure)
      return oauth.processDeviceAuthorizationResponse(as, client, response)
    }
    const poll = async ({ device_code: code }: oauth.DeviceAuthorizationResponse) => {
      const response = await oauth.deviceCodeGrantRequest(as, client, authentication, code, insecure)
      return oauth.processDeviceCodeResponse(as, client, response)
    }
    const device = await ask()
    await expect(poll(device)).rejects.toMatchObject({ error: 'authorization_pending', status: 400 })
    await expect(poll(device)).rejects.toMatchObject({ error: 'slow_down', status: 400 })
    await anybody().answer(person, device.user_code)
    ahead += 10_000
    const tokens = await poll(device)
    expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'openid read' })
    expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ sub: subject, aud: 'box' })
    expect(tokens).not.toHaveProperty('refresh_token')

    const refused = await ask()
    const denied = await anybody().answer(person, refused.user_code, 'deny')
    expect(denied).toMatchObject({ status: 200, html: expect.stringContaining('Access denied') })
    await expect(poll(refused)).rejects.toMatchObject({ error: 'access_denied', status: 400 })
  })

  it('records in the audit log who allowed what to which device', async () => {
    const events = (await server.audit()).map(({ event, client_id, sub, scope: asked }) => ({
      event,
      client_id,
      sub,
      scope: asked,
    }))
    expect(events).toEqual(
      expect.arrayContaining([
        { event: 'device.started', client_id: 'tv', sub: undefined, scope },
        { event: 'device.approved', client_id: 'tv', sub: subject, scope },
        { event: 'device.denied', client_id: 'box', sub: subject, scope: 'openid read' },
      ]),
    )
  })
})
