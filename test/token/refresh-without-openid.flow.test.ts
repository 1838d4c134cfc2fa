import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { tvClient } from '../support/clients/device.js'
import { challenge } from '../support/forge/mint.js'
import { startDeviceServer, type DeviceServer } from '../support/server/device-server.js'
import { person, redirectUri, webClient } from '../support/server/server.js'

const codeOnly = { ...webClient, client_id: 'code-only', grant_types: ['authorization_code'] }
const ownClient = { ...webClient, client_id: 'own', consent: 'implicit' }
const configure = (written: Record<string, unknown>) => ({
  ...written,
  clients: [...(written['clients'] as object[]), codeOnly, ownClient],
})

let host: DeviceServer
let issuer: string
beforeAll(async () => {
  host = await startDeviceServer(configure)
  ;({ issuer } = host.server)
})
afterAll(() => host[Symbol.asyncDispose]())

const urlFor = (at: string, client_id: string, scope: string): string =>
  `${at}/authorize?${new URLSearchParams({
    ...{ client_id, scope, redirect_uri: redirectUri, response_type: 'code', code_challenge: challenge },
    code_challenge_method: 'S256',
  })}`

/** The answer of `/token` after a sign-in that asks for this. */
const tokens = async (scope: string, client = webClient, browser = new UserAgent(), on = host) => {
  const left = await browser.authorize(urlFor(on.server.issuer, client.client_id, scope), person)
  return (await on.redeem(left.searchParams.get('code') ?? '', {}, client)).body
}

const keepAccess = 'Keep this access while you are away'

describe('a request without openid, of a client that is registered for refresh_token', () => {
  it('gets a refresh token that renews, and no scope that it did not ask for', async () => {
    const { refresh_token, scope, id_token } = await tokens('read')
    expect({ scope, id_token }).toEqual({ scope: 'read', id_token: undefined })
    const renewed = await host.refresh(String(refresh_token), {}, webClient)
    expect(renewed).toMatchObject({ status: 200, body: { scope: 'read', access_token: expect.any(String) } })
  })

  it('outlives the session, as with offline_access', async () => {
    const browser = new UserAgent()
    const { refresh_token } = await tokens('read', webClient, browser)
    const online = await tokens('openid read', webClient, browser)
    const page = await browser.follow(`${issuer}/logout`)
    await browser.submit(page.url, await page.response.text(), {})
    const info = await host.userinfo(String(online['access_token']))
    expect(info.status).toBe(401)
    expect((await host.refresh(String(refresh_token), {}, webClient)).status).toBe(200)
  })

  it('is asked for on the consent page, and for those who allowed less before', async () => {
    const browser = new UserAgent()
    await tokens('read', codeOnly, browser)
    const consent = async (client: string, scope: string) =>
      (await browser.follow(urlFor(issuer, client, scope))).response.text()
    expect(await consent('web', 'write')).toContain(keepAccess)
    expect(await consent('web', 'openid write')).not.toContain(keepAccess)
    expect(await consent('code-only', 'write')).not.toContain(keepAccess)
  })

  it('is asked again where the consent that is remembered has no such access', async () => {
    const browser = new UserAgent()
    const allowed = async (scope: string) =>
      (await browser.authorize(urlFor(issuer, 'other', scope), person)).searchParams.has('code')
    expect(await allowed('openid write')).toBe(true)
    const again = await browser.follow(urlFor(issuer, 'other', 'write'))
    expect(await again.response.text()).toContain(keepAccess)
    expect(await allowed('write')).toBe(true)
    expect((await browser.follow(urlFor(issuer, 'other', 'write'))).left?.searchParams.has('code')).toBe(true)
  })

  it('is not asked where the client needs no consent', async () => {
    expect((await tokens('write', ownClient))['refresh_token']).toEqual(expect.any(String))
  })

  it('gets one on a device, whose page says so', async () => {
    const { deviceCode, userCode } = await host.start(tvClient, 'read')
    const someone = host.newPerson()
    const page = await someone.enter(await someone.open(person), userCode)
    expect(page.html).toContain(keepAccess)
    await someone.decide(page, 'approve')
    const { body } = await host.poll(deviceCode)
    expect(body).toMatchObject({ scope: 'read', refresh_token: expect.any(String) })
    expect((await host.refresh(String(body['refresh_token']), {}, tvClient)).status).toBe(200)
  })
})

describe('no refresh token', () => {
  it.each([
    ['openid without offline_access', 'openid read', webClient],
    ['a client that is not registered for it', 'read', codeOnly],
  ])('for %s', async (_, scope, client) => {
    const body = await tokens(scope, client)
    expect(body).toMatchObject({ access_token: expect.any(String) })
    expect(body).not.toHaveProperty('refresh_token')
  })

  it('without openid, where the deployment wants offline_access', async () => {
    await using strict = await startDeviceServer((written) => ({ ...written, refresh_token_without_openid: false }))
    const agent = new UserAgent()
    const at = await agent.follow(urlFor(strict.server.issuer, 'web', 'read'))
    const signedIn = await agent.submit(at.url, await at.response.text(), { ...person })
    expect(await signedIn.response.text()).not.toContain(keepAccess)
    const body = await tokens('read', webClient, agent, strict)
    expect(body).toMatchObject({ access_token: expect.any(String) })
    expect(body).not.toHaveProperty('refresh_token')
    expect(await tokens('read offline_access', webClient, agent, strict)).toHaveProperty('refresh_token')
  })
})
