import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPrincipalRegistry } from '../../core/attestation/principal-registry.js'
import { createWaitingApprovals } from '../../core/oauth/ciba/waiting-approvals.js'
import {
  createApprover,
  otherShopClient,
  shopClient,
  type Departure,
  type WaitingRequest,
} from '../support/clients/ciba.js'
import { startCibaServer, type CibaServer, type Phone } from '../support/server/ciba-server.js'
import { collectionsOf } from '../support/forge/mint.js'
import { subject } from '../support/server/server.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

type Json = Record<string, unknown>

const bob = 'bob-1'
const payment = { type: 'payment', amount: '12.50', currency: 'EUR' }
const details = { authorization_details: JSON.stringify([payment]), binding_message: 'Order W4SCT' }

let server: CibaServer
let phone: Phone
beforeAll(async () => {
  server = await startCibaServer()
})
afterAll(() => server[Symbol.asyncDispose]())

let authReqId: string
let waiting: WaitingRequest
beforeEach(async () => {
  // What earlier tests left is over, and their counts are forgotten.
  server.host.later(3_700_000)
  phone = await server.newPhone()
  authReqId = await server.start(details)
  waiting = (await phone.list()).at(-1)!
})

const named = (status: number, error_code: string) => ({ status, body: { error_code } })
const expectPending = async () => {
  server.rest()
  expect(await server.poll(authReqId)).toMatchObject({ status: 400, body: { error: 'authorization_pending' } })
}

describe('CB01 an approval over something else than what waits', () => {
  it.each<[string, (request: Json) => Json]>([
    ['a lower amount', (request) => ({ ...request, authorization_details: [{ ...payment, amount: '1.25' }] })],
    ['no details', ({ authorization_details: _, ...request }) => request],
    ['another message', (request) => ({ ...request, binding_message: 'Order W4SCU' })],
    ['more scope', (request) => ({ ...request, scope: 'openid profile read' })],
    ['another client', (request) => ({ ...request, client_id: 'other-shop' })],
    ['something added', (request) => ({ ...request, note: 'x' })],
  ])('%s decides nothing', async (_, change) => {
    const changed = { ...waiting, request: change(waiting.request) }
    expect(await phone.decide(changed)).toMatchObject(named(400, 'ApprovalMismatch'))
    expect(await phone.decide(changed, 'deny')).toMatchObject(named(400, 'ApprovalMismatch'))
    await expectPending()
    expect(await phone.decide(waiting)).toMatchObject({ status: 200 })
    server.rest()
    expect((await server.poll(authReqId)).body['authorization_details']).toEqual([payment])
  })
})

it('CB03 a late approval finds the request expired', async () => {
  server.host.later(301_000)
  expect(await phone.decide(waiting)).toMatchObject(named(409, 'ApprovalOver'))
  expect(await server.poll(authReqId)).toMatchObject({ status: 400, body: { error: 'expired_token' } })
})

it('CB04 a revoked device is refused at once, and what it signed before is void', async () => {
  const lost = await server.newPhone()
  const body = JSON.stringify({ decision: await lost.proof(waiting) })
  const headers = await lost.headersFor('POST', body, {})
  expect(await lost.list()).toHaveLength(1)
  const principals = createPrincipalRegistry(collectionsOf(server.host.store))
  const principal = { subject, principalId: lost.principalId, principalType: 'device' } as const
  await principals.revoke({ principal, revokedAt: Math.floor(server.host.now() / 1000) })
  expect(await lost.get()).toMatchObject(named(403, 'PrincipalRevoked'))
  expect(await lost.send('POST', headers, body)).toMatchObject(named(403, 'PrincipalRevoked'))
  await expectPending()
})

it('CB05 the device of another person sees nothing and decides nothing, and a service is no device', async () => {
  const stranger = await server.newPhone(bob)
  expect(await stranger.list()).toEqual([])
  expect(await stranger.decide(waiting)).toMatchObject(named(404, 'ApprovalUnknown'))
  const unknown = { ...waiting, approval_id: 'A'.repeat(43) }
  expect(await phone.decide(unknown)).toMatchObject(named(404, 'ApprovalUnknown'))
  const service = await server.newPhone(subject, 'service')
  expect(await service.get()).toMatchObject(named(403, 'DeviceRequired'))
  expect(await service.decide(waiting)).toMatchObject(named(403, 'DeviceRequired'))
  await expectPending()
})

describe('CB06 a request signature that belongs to another request', () => {
  const now = () => Math.floor(server.host.now() / 1000)
  it.each<[string, Departure]>([
    ['another method', { request: (claims) => ({ ...claims, mth: 'GET' }) }],
    ['another path', { request: (claims) => ({ ...claims, pth: '/approvals/' }) }],
    ['another audience', { request: (claims) => ({ ...claims, aud: 'https://other.example' }) }],
    ['expired', { request: (claims) => ({ ...claims, iat: now() - 120, exp: now() - 60 }) }],
    ['from the future', { request: (claims) => ({ ...claims, iat: now() + 60, exp: now() + 120 }) }],
    ['good for an hour', { request: (claims) => ({ ...claims, exp: now() + 3600 }) }],
    ['without jti', { request: ({ jti: _, ...claims }) => claims }],
    ['without the hash of the body', { request: ({ bdh: _, ...claims }) => claims }],
    ['of a query', { request: (claims) => ({ ...claims, qsh: 'a'.repeat(64) }) }],
    ['of another type', { requestHeader: (header) => ({ ...header, typ: 'approval+jwt' }) }],
    ['without a type', { requestHeader: ({ typ: _, ...header }) => header }],
    ['with another body', { body: (text) => `${text} ` }],
  ])('%s is refused', async (_, departure) => {
    expect(await phone.decide(waiting, 'approve', departure)).toMatchObject(named(401, 'RequestSignatureInvalid'))
    expect(await phone.list()).toHaveLength(1)
  })

  it('by the key of another device, without headers, or with a query is refused', async () => {
    const other = await server.device({ subject, principal_id: 'phone-other' })
    const attestation = (await phone.headersFor('GET', undefined, {}))['x-attestation']
    const thief = createApprover(other, server.issuer, attestation, server.host.now)
    expect(await thief.get()).toMatchObject(named(401, 'KeyNotBound'))
    expect(await phone.send('GET', {})).toMatchObject(named(401, 'RequestSignatureInvalid'))
    expect(await phone.get({ query: '?a=b' })).toMatchObject(named(400, 'InvalidRequest'))
  })

  it('with an expired attestation is refused', async () => {
    const before = await server.newPhone()
    server.host.later(86_400_000)
    expect(await before.get()).toMatchObject(named(401, 'AttestationInvalid'))
  })
})

it('a request and a decision may spell their types in another case', async () => {
  for (const typ of spellingsOf('device-signature+jwt'))
    expect(await phone.get({ requestHeader: (header) => ({ ...header, typ }) })).toMatchObject({ status: 200 })
  // Of another type the decision would be told so; this one is of a request that is not there.
  const unknown = { ...waiting, approval_id: 'A'.repeat(43) }
  for (const typ of spellingsOf('approval+jwt')) {
    const decisionHeader = (header: Record<string, unknown>) => ({ ...header, typ })
    expect(await phone.decide(unknown, 'approve', { decisionHeader })).toMatchObject(named(404, 'ApprovalUnknown'))
  }
})

it('CB07 a replayed request is refused', async () => {
  const headers = await phone.headersFor('GET', undefined, {})
  expect(await phone.send('GET', headers)).toMatchObject({ status: 200 })
  expect(await phone.send('GET', headers)).toMatchObject(named(401, 'RequestSignatureInvalid'))
})

describe('CB08 a decision with a wrong signature', () => {
  const now = () => Math.floor(server.host.now() / 1000)
  it.each<[string, Departure]>([
    ['for another server', { decision: (claims) => ({ ...claims, aud: 'https://other.example' }) }],
    ['expired', { decision: (claims) => ({ ...claims, iat: now() - 120, exp: now() - 60 }) }],
    ['good for an hour', { decision: (claims) => ({ ...claims, exp: now() + 3600 }) }],
    ['neither', { decision: (claims) => ({ ...claims, decision: 'maybe' }) }],
    ['without a request', { decision: ({ request: _, ...claims }) => claims }],
    ['of another type', { decisionHeader: (header) => ({ ...header, typ: 'device-signature+jwt' }) }],
    ['of no algorithm', { decisionHeader: (header) => ({ ...header, alg: 'none' }) }],
  ])('%s decides nothing', async (_, departure) => {
    expect(await phone.decide(waiting, 'approve', departure)).toMatchObject(named(400, 'ApprovalInvalid'))
    await expectPending()
  })

  it('by another phone of the person, sent by this one, decides nothing', async () => {
    const other = await server.newPhone()
    const body = JSON.stringify({ decision: await other.proof(waiting) })
    const headers = await phone.headersFor('POST', body, {})
    expect(await phone.send('POST', headers, body)).toMatchObject(named(400, 'ApprovalInvalid'))
    await expectPending()
  })
})

it('CB09 a client that guesses usernames is slowed down, also for those that exist', async () => {
  for (let n = 0; n < 29; n++)
    expect(await server.ask({ login_hint: `nobody-${String(n)}` }, otherShopClient)).toMatchObject({
      status: 400,
      body: { error: 'unknown_user_id' },
    })
  await server.ask({ login_hint: 'nobody' }, otherShopClient)
  await server.ask({ login_hint: 'nobody' }, otherShopClient)
  for (const login_hint of ['nobody', 'alice']) {
    const { status, headers } = await server.ask({ login_hint }, otherShopClient)
    expect(status).toBe(429)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  }
})

it('CB10 a client may have three requests waiting for a person, regardless of other clients', async () => {
  await server.start()
  await server.start()
  const full = await server.ask({ login_hint: 'alice' })
  expect(full).toMatchObject({ status: 429, body: { error: 'temporarily_unavailable' } })
  await server.start({}, otherShopClient)
  expect(await phone.list()).toHaveLength(4)
  // One that was denied makes room, and after ten the client has to wait.
  const statuses: number[] = []
  for (let n = 0; n < 12; n++) {
    const [first] = (await phone.list()).filter(({ request }) => request['client_id'] === shopClient.client_id)
    if (first) await phone.decide(first, 'deny')
    statuses.push((await server.ask({ login_hint: 'alice' })).status)
  }
  expect(statuses[0]).toBe(200)
  expect(statuses.at(-1)).toBe(429)
})

it('CB10 at most twenty requests of all clients wait for a person', async () => {
  const { waitingApprovals } = collectionsOf(server.host.store)
  const places = createWaitingApprovals(waitingApprovals, server.host.now)
  const enter = (count: number) =>
    places.enter('somebody', {
      ...{ approvalId: `a-${String(count)}`, clientId: `client-${String(count)}` },
      expiresAt: server.host.now() + 300_000,
    })
  for (let count = 0; count < 20; count++) expect(await enter(count)).toBe(0)
  expect(await enter(20)).toBeGreaterThan(0)
  expect(await places.list('somebody')).toHaveLength(20)
})

describe('CB11 an auth_req_id', () => {
  it('of another client, or an unknown one, is refused', async () => {
    await phone.decide(waiting)
    for (const [id, client] of [
      [authReqId, otherShopClient],
      ['A'.repeat(43), shopClient],
      ['x', shopClient],
    ] as const)
      expect(await server.poll(id, client)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect((await server.poll(authReqId)).status).toBe(200)
  })
})

describe('CB12 an invalid request', () => {
  it.each<[string, Readonly<Record<string, string>>, string]>([
    ['without a hint', {}, 'invalid_request'],
    ['with two hints', { login_hint: 'alice', id_token_hint: 'x.y.z' }, 'invalid_request'],
    ['with a hint token', { login_hint_token: 'x.y.z' }, 'invalid_request'],
    ['with a wrong ID token', { id_token_hint: 'x.y.z' }, 'invalid_request'],
    ['for nobody', { login_hint: 'n'.repeat(256) }, 'unknown_user_id'],
    ['with an endless hint', { login_hint: 'n'.repeat(257) }, 'invalid_request'],
    ['without openid', { login_hint: 'alice', scope: 'profile' }, 'invalid_scope'],
    ['with more scope', { login_hint: 'alice', scope: 'openid write' }, 'invalid_scope'],
    ['with a request_uri', { login_hint: 'alice', request_uri: 'urn:x' }, 'invalid_request'],
    ['with a long message', { login_hint: 'alice', binding_message: 'm'.repeat(101) }, 'invalid_binding_message'],
    ['with lines', { login_hint: 'alice', binding_message: 'a\nb' }, 'invalid_binding_message'],
    ['with hidden text', { login_hint: 'alice', binding_message: 'pay \u202e05.21' }, 'invalid_binding_message'],
    ['with no time', { login_hint: 'alice', requested_expiry: '0' }, 'invalid_request'],
    ['with text for a time', { login_hint: 'alice', requested_expiry: '1e3' }, 'invalid_request'],
    [
      'with unknown details',
      { login_hint: 'alice', authorization_details: '[{"type":"x"}]' },
      'invalid_authorization_details',
    ],
  ])('%s is refused', async (_, form, error) => {
    expect(await server.ask(form)).toMatchObject({ status: 400, body: { error } })
    expect(await phone.list()).toHaveLength(1)
  })

  it('of a client without the grant, or without its secret, is refused', async () => {
    const web = { client_id: 'web', client_secret: 'web-secret-of-more-than-256-bits-for-tests' }
    expect((await server.ask({ login_hint: 'alice' }, { ...shopClient, client_secret: 'wrong' })).status).toBe(401)
    expect((await server.ask({ login_hint: 'alice' }, web)).status).toBeOneOf([400, 401])
  })
})
