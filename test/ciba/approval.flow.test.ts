import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cibaGrant, otherShopClient, shopClient } from '../support/clients/ciba.js'
import { decode } from '../support/forge/forge.js'
import { startCibaServer, type CibaServer, type Phone } from '../support/server/ciba-server.js'
import { subject } from '../support/server/server.js'

let server: CibaServer
let phone: Phone
beforeAll(async () => {
  server = await startCibaServer({}, (written) => ({
    ...written,
    acr_values_supported: [{ acr: 'urn:example:device', methods: ['pop'] }],
  }))
  phone = await server.newPhone()
})
afterAll(() => server[Symbol.asyncDispose]())

const payment = { type: 'payment', amount: '12.50', currency: 'EUR', creditor: 'Corner Shop' }

it('issues tokens to openid-client for the request that the person approved on the phone', async () => {
  const config = await oidc.discovery(
    new URL(server.issuer),
    shopClient.client_id,
    undefined,
    oidc.ClientSecretBasic(shopClient.client_secret),
    { execute: [oidc.allowInsecureRequests] },
  )
  expect(config.serverMetadata()).toMatchObject({
    backchannel_authentication_endpoint: `${server.issuer}/bc-authorize`,
    backchannel_token_delivery_modes_supported: ['poll', 'ping'],
    backchannel_user_code_parameter_supported: false,
    grant_types_supported: expect.arrayContaining([cibaGrant]),
  })
  const started = await oidc.initiateBackchannelAuthentication(config, {
    scope: 'openid profile offline_access',
    login_hint: 'alice',
    binding_message: 'Order W4SCT',
    authorization_details: JSON.stringify([payment]),
    acr_values: 'urn:example:device',
    requested_expiry: '120',
  })
  expect(started).toMatchObject({ expires_in: 120, interval: 5 })

  const device = await server.newDevice()
  const [waiting] = await device.approvals()
  expect(waiting).toEqual({
    approvalId: expect.any(String),
    expiresIn: expect.any(Number),
    request: {
      client_id: 'shop',
      client_name: 'Corner Shop',
      scope: 'openid profile offline_access',
      binding_message: 'Order W4SCT',
      authorization_details: [payment],
    },
  })
  expect(await device.decide(waiting!, 'approve')).toBe('approved')
  expect(await device.approvals()).toEqual([])

  const tokens = await oidc.pollBackchannelAuthenticationGrant(config, { ...started, interval: 0 })
  expect(tokens).toMatchObject({ refresh_token: expect.any(String), authorization_details: [payment] })
  expect(tokens.claims()).toMatchObject({ sub: subject, amr: ['pop'], acr: 'urn:example:device' })
  const keys = createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`))
  const { payload } = await jwtVerify(tokens.access_token, keys, { issuer: server.issuer })
  expect(payload).toMatchObject({ sub: subject, client_id: 'shop', authorization_details: [payment] })
  expect(await oidc.fetchUserInfo(config, tokens.access_token, subject)).toMatchObject({ name: 'Alice Adams' })
  const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')
  expect(refreshed.claims()).toMatchObject({ amr: ['pop'] })

  const lines = await server.host.server.audit()
  const events = lines.filter(({ event }) => String(event).startsWith('backchannel.'))
  expect(events).toMatchObject([
    { event: 'backchannel.started', client_id: 'shop', sub: subject },
    { event: 'backchannel.approved', client_id: 'shop', sub: subject, did: device.principalId },
  ])
  expect(JSON.stringify(lines)).not.toContain(started.auth_req_id)
})

it('accepts an ID token of the person as the hint, and the subject', async () => {
  const first = await server.start({ login_hint: subject })
  await phone.decide((await phone.list())[0]!)
  const { body } = await server.poll(first)
  const hint = String(body['id_token'])
  expect(decode(hint, 1)).toMatchObject({ sub: subject })
  const answer = await server.ask({ id_token_hint: hint })
  expect(answer).toMatchObject({ status: 200, body: { expires_in: 300 } })
  await phone.decide((await phone.list())[0]!, 'deny')
  // Of another client it is no hint.
  expect(await server.ask({ id_token_hint: hint }, otherShopClient)).toMatchObject({
    status: 400,
    body: { error: 'invalid_request' },
  })
})

it('tells a polling client the state of its request', async () => {
  const id = await server.start()
  expect(await server.poll(id)).toMatchObject({ status: 400, body: { error: 'authorization_pending' } })
  expect(await server.poll(id)).toMatchObject({ status: 400, body: { error: 'slow_down' } })
  const [waiting] = await phone.list()
  expect(await phone.decide(waiting!, 'deny')).toMatchObject({ status: 200, body: { state: 'denied' } })
  expect(await server.poll(id)).toMatchObject({ status: 400, body: { error: 'access_denied' } })

  expect((await server.ask({ login_hint: 'alice', requested_expiry: '301' })).body['expires_in']).toBe(300)
  const late = await server.start({ requested_expiry: '30' })
  await phone.decide((await phone.list())[0]!, 'deny')
  server.host.later(31_000)
  expect(await server.poll(late)).toMatchObject({ status: 400, body: { error: 'expired_token' } })
  expect(await phone.list()).toEqual([])
})

it('lets two phones of the person see the same request', async () => {
  const second = await server.newPhone()
  await server.start()
  expect(await second.list()).toEqual(await phone.list())
  await second.decide((await second.list())[0]!)
  expect(await phone.list()).toEqual([])
})

it('tells a device that uses the library why nothing was decided', async () => {
  let answer: (() => Promise<Response>) | undefined
  const device = await server.newDevice({ fetch: (...request) => answer?.() ?? fetch(...request) })
  const id = await server.start({ binding_message: 'Order W4SCT' })
  const [waiting] = await device.approvals()
  const changed = { ...waiting!, request: { ...waiting!.request, binding_message: 'Order W4SCU' } }
  await expect(device.decide(changed, 'approve')).rejects.toMatchObject({ errorCode: 'ApprovalMismatch' })
  await expect(device.decide({ ...waiting!, approvalId: 'A'.repeat(43) }, 'deny')).rejects.toMatchObject({
    name: 'DeviceError',
    errorCode: 'ApprovalUnknown',
    mustEnrol: false,
    isPassing: false,
  })
  const unusable = [new Response('<html>', { status: 502 }), Response.json({ approvals: [{}] }), Response.json({})]
  for (const response of unusable) {
    answer = () => Promise.resolve(response.clone())
    await expect(device.approvals()).rejects.toMatchObject({ errorCode: 'Unreachable', isPassing: true })
    await expect(device.decide(waiting!, 'deny')).rejects.toMatchObject({ errorCode: 'Unreachable' })
  }
  answer = undefined
  expect(await device.decide(waiting!, 'deny')).toBe('denied')
  await expect(device.decide(waiting!, 'approve')).rejects.toMatchObject({ errorCode: 'ApprovalOver' })
  expect(await server.poll(id)).toMatchObject({ status: 400, body: { error: 'access_denied' } })
})
