import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { hashOpaqueToken } from '../../core/opaque-token.js'
import { boxClient, deviceGrant, otherTvClient, tvClient } from '../support/clients/device.js'
import { person, publicClient, serviceClient, webClient } from '../support/server/server.js'
import { startDeviceServer, type DeviceServer } from '../support/server/device-server.js'
import { expectRefusal } from '../support/server/token-server.js'

describe('the device flow under attack: the device', () => {
  let host: DeviceServer
  beforeAll(async () => {
    host = await startDeviceServer()
  })
  afterAll(() => host[Symbol.asyncDispose]())
  afterEach(() => host.rest())

  it('DV01 a device code that is unknown or something else is invalid_grant', async () => {
    const device = await host.start()
    const { code } = await host.mint.code({ clientId: 'tv' })
    const { token } = await host.mint.refreshToken({ clientId: 'tv' })
    const { deviceCode, userCode } = device
    const spellings = [
      'x',
      'A'.repeat(43),
      'A'.repeat(5000),
      userCode,
      userCode.replace('-', ''),
      hashOpaqueToken(deviceCode),
      deviceCode.toLowerCase() === deviceCode ? deviceCode.toUpperCase() : deviceCode.toLowerCase(),
      `${deviceCode}=`,
      ` ${deviceCode}`,
      `${deviceCode}\n`,
      '{"$ne":null}',
      '漢字',
      code,
      token,
    ]
    for (const spelling of spellings) expectRefusal(await host.poll(spelling), 400, 'invalid_grant')
    expectRefusal(await host.poll(''), 400, 'invalid_request')
    await host.expectPending(device)
    await host.expectGoodDevice()
  })

  it('CC11 a device code is accepted neither as a code nor as a refresh token', async () => {
    const device = await host.start(boxClient)
    await host.newPerson().answer(person, device.userCode)
    const app = { client_id: publicClient.client_id, redirect_uri: publicClient.redirect_uris[0] }
    const asCode = { grant_type: 'authorization_code', code: device.deviceCode, ...app, code_verifier: 'v'.repeat(43) }
    expectRefusal(await host.token(asCode), 400, 'invalid_grant')
    const asToken = { grant_type: 'refresh_token', refresh_token: device.deviceCode, client_id: tvClient.client_id }
    expectRefusal(await host.token(asToken), 400, 'invalid_grant')
    expect(await host.poll(device.deviceCode, boxClient)).toMatchObject({ status: 200 })
  })

  it('DV02 an expired device code is expired_token, pending or approved, and then forgotten', async () => {
    const [pending, approved] = [await host.start(), await host.start()]
    await host.newPerson().answer(person, approved.userCode)
    host.later(600_000)
    for (const { deviceCode } of [pending, approved, pending, approved])
      expectRefusal(await host.poll(deviceCode), 400, 'expired_token')
    host.later(600_000)
    for (const { deviceCode } of [pending, approved]) expectRefusal(await host.poll(deviceCode), 400, 'invalid_grant')
    await host.expectGoodDevice()
  })

  it('DV03 polling too fast adds five seconds each time, and refused polls do not count', async () => {
    const device = await host.start()
    await host.expectPending(device)
    for (let polls = 0; polls < 3; polls++) expectRefusal(await host.poll(device.deviceCode), 400, 'slow_down')
    // 5 + 3 * 5 seconds since the last poll that was answered.
    host.later(15_000)
    expectRefusal(await host.poll(device.deviceCode), 400, 'slow_down')
    host.later(10_000)
    await host.expectPending(device)
    // It has kept the pace: five seconds are enough again, and four.
    host.later(4000)
    await host.expectPending(device)
    expectRefusal(await host.poll(device.deviceCode), 400, 'slow_down')
    await host.newPerson().answer(person, device.userCode)
    expect(await host.poll(device.deviceCode)).toMatchObject({ status: 200 })
    await host.expectGoodDevice()
  })

  it('a poll right after the decision is in time, whatever preceded it', async () => {
    for (const [decision, answer] of [
      ['approve', { status: 200 }],
      ['deny', { status: 400, body: { error: 'access_denied' } }],
    ] as const) {
      const device = await host.start()
      await host.expectPending(device)
      for (let polls = 0; polls < 20; polls++) expectRefusal(await host.poll(device.deviceCode), 400, 'slow_down')
      await host.newPerson().answer(person, device.userCode, decision)
      expect(await host.poll(device.deviceCode)).toMatchObject(answer)
    }
    await host.expectGoodDevice()
  })

  it('DV03 a device that hammers waits at most a minute once it has stopped', async () => {
    const device = await host.start()
    await host.expectPending(device)
    const hammered = await Promise.all(Array.from({ length: 50 }, () => host.poll(device.deviceCode)))
    for (const answer of hammered) expectRefusal(answer, 400, 'slow_down')
    host.later(58_000)
    expectRefusal(await host.poll(device.deviceCode), 400, 'slow_down')
    host.later(1000)
    await host.expectPending(device)
    await host.newPerson().answer(person, device.userCode)
    host.later(60_000)
    expect(await host.poll(device.deviceCode)).toMatchObject({ status: 200 })
    await host.expectGoodDevice()
  })

  it('DV04 the device code of another client is invalid_grant, and does not slow its owner down', async () => {
    const device = await host.start()
    await host.expectPending(device)
    await host.newPerson().answer(person, device.userCode)
    for (const thief of [otherTvClient, boxClient])
      expectRefusal(await host.poll(device.deviceCode, thief), 400, 'invalid_grant')
    expectRefusal(await host.poll(device.deviceCode, webClient), 400, 'unauthorized_client')
    const posing = { ...boxClient, client_secret: 'wrong' }
    expectRefusal(await host.poll(device.deviceCode, posing), 401, 'invalid_client')
    host.later(5000)
    expect(await host.poll(device.deviceCode)).toMatchObject({ status: 200 })
    await host.expectGoodDevice(boxClient)
  })

  it('DV05 a second use is invalid_grant and revokes the tokens of the first', async () => {
    const device = await host.start()
    await host.newPerson().answer(person, device.userCode)
    const first = await host.poll(device.deviceCode)
    expect(first).toMatchObject({ status: 200, body: { refresh_token: expect.any(String) } })
    const token = String(first.body['access_token'])
    expect(await host.userinfo(token)).toMatchObject({ status: 200 })
    expectRefusal(await host.poll(device.deviceCode), 400, 'slow_down')
    expect(await host.userinfo(token)).toMatchObject({ status: 200 })
    host.later(10_000)
    expectRefusal(await host.poll(device.deviceCode), 400, 'invalid_grant')
    expect(await host.userinfo(token)).toMatchObject({ status: 401 })
    expectRefusal(await host.refresh(String(first.body['refresh_token']), {}, tvClient), 400, 'invalid_grant')
    expect((await host.server.audit()).map(({ event }) => event)).toContain('device.reused')
    await host.expectGoodDevice()
  })

  it('DV12 a denied device gets access_denied, however often it asks', async () => {
    const device = await host.start()
    await host.expectPending(device)
    await host.newPerson().answer(person, device.userCode, 'deny')
    for (let polls = 0; polls < 3; polls++) expectRefusal(await host.poll(device.deviceCode), 400, 'access_denied')
    await host.expectGoodDevice()
  })

  it('DV13 /device_authorization refuses clients without the grant, and requests beyond the registration', async () => {
    for (const client of [webClient, publicClient, serviceClient])
      expectRefusal(await host.ask({ scope: 'openid' }, client), 400, 'unauthorized_client')
    for (const client of [{ client_id: 'nobody' }, { ...boxClient, client_secret: 'wrong' }, { client_id: 'box' }])
      expectRefusal(await host.ask({ scope: 'openid' }, client), 401, 'invalid_client')
    const refusals: readonly (readonly [string, string])[] = [
      ['', 'invalid_scope'],
      ['scope=', 'invalid_scope'],
      ['scope=openid+write', 'invalid_scope'],
      ['scope=openid++read', 'invalid_scope'],
      ['scope=openid&scope=read', 'invalid_request'],
      ['scope=openid&resource=https%3A%2F%2Fother.example', 'invalid_target'],
      ['scope=openid&resource=x', 'invalid_target'],
      ['scope=%ff', 'invalid_request'],
    ]
    for (const [form, error] of refusals) expectRefusal(await host.ask(form), 400, error)
    const url = `${host.server.issuer}/device_authorization`
    expect((await fetch(url)).status).toBe(405)
    const json = { 'content-type': 'application/json' }
    expect((await fetch(url, { method: 'POST', body: '{"client_id":"tv"}', headers: json })).status).toBe(415)
    const query = await fetch(`${url}?client_id=tv&scope=openid`, { method: 'POST' })
    expect(query.status).toBe(400)
    await host.expectGoodDevice()
  })

  it('issues no more than was allowed: scope and resource only narrow', async () => {
    const device = await host.start(tvClient, 'openid read')
    await host.newPerson().answer(person, device.userCode)
    const ask = (more: object) =>
      host.token({ grant_type: deviceGrant, device_code: device.deviceCode, client_id: 'tv', ...more })
    expectRefusal(await ask({ scope: 'openid read profile' }), 400, 'invalid_scope')
    host.later(60_000)
    expectRefusal(await ask({ resource: 'https://api.example' }), 400, 'invalid_target')
    host.later(60_000)
    const narrowed = await ask({ scope: 'read' })
    expect(narrowed).toMatchObject({ status: 200, body: { scope: expect.any(String) } })
    expect(narrowed.body).not.toHaveProperty('refresh_token')
    await host.expectGoodDevice()
  })
})
