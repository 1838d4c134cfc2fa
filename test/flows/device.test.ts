import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { boxClient, deviceGrant, personAt, tvClient, withDevices } from '../support/device.js'
import { person, startServer, subject, type TestServer } from '../support/server.js'
import { UserAgent } from '../support/user-agent.js'

const scope = 'openid profile offline_access read'

describe('the device flow', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ configure: withDevices })
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

  it('is run by openid-client: tokens, refresh, userinfo', async () => {
    const config = await oidc.discovery(new URL(server.issuer), tvClient.client_id, undefined, oidc.None(), {
      execute: [oidc.allowInsecureRequests],
    })
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

  it('is run by oauth4webapi for a confidential client: pending, slow_down, then tokens', async () => {
    const as = await oauth.processDiscoveryResponse(
      new URL(server.issuer),
      await oauth.discoveryRequest(new URL(server.issuer), { [oauth.allowInsecureRequests]: true }),
    )
    const client: oauth.Client = { client_id: boxClient.client_id }
    const authentication = oauth.ClientSecretBasic(boxClient.client_secret)
    const insecure = { [oauth.allowInsecureRequests]: true } as const
    const device = await oauth.processDeviceAuthorizationResponse(
      as,
      client,
      await oauth.deviceAuthorizationRequest(as, client, authentication, { scope: 'openid read' }, insecure),
    )
    const poll = async () =>
      oauth.processDeviceCodeResponse(
        as,
        client,
        await oauth.deviceCodeGrantRequest(as, client, authentication, device.device_code, insecure),
      )
    await expect(poll()).rejects.toMatchObject({ error: 'authorization_pending', status: 400 })
    await expect(poll()).rejects.toMatchObject({ error: 'slow_down', status: 400 })
    const denied = await anybody().answer(person, device.user_code, 'deny')
    expect(denied).toMatchObject({ status: 200, html: expect.stringContaining('Device refused') })
  })

  it('tells the audit log who allowed what to which device', async () => {
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
