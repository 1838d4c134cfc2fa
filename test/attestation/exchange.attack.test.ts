import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Unavailable } from '../../core/unavailable.js'
import { decodeJws, type Device } from '../support/clients/attestation.js'
import { api } from '../support/clients/clients.js'
import { forge } from '../support/forge/forge.js'
import {
  attestationType,
  fleet,
  grantType,
  publicFleet,
  servicesOnly,
  startAttestedExchange,
  withoutPolicy,
  type AttestedExchange,
} from '../support/server/attested-exchange.js'
import { key as keyEntry } from '../support/server/reloading.js'
import { expectRefusal } from '../support/server/token-server.js'

// Most of these attestations are signed with the issuer's own key, so that nothing but the rule under test can refuse them.

type Json = Record<string, unknown>

let server: AttestedExchange
let key: KeyObject
let device: Device
let attestation: string

beforeAll(async () => {
  server = await startAttestedExchange()
  key = await server.host.key()
})
beforeEach(async () => {
  server.double.reset()
  device = await server.device()
  attestation = await device.attest()
  server.double.questions.length = 0
})
afterEach(async () => {
  server.double.reset()
  expect((await server.show(device, attestation)).status).toBe(200)
})
afterAll(() => server[Symbol.asyncDispose]())

const now = () => Math.floor(server.host.now() / 1000)

const changed = (claims: Json, header: Json = {}, by: KeyObject = key): string => {
  const good = decodeJws(attestation)
  return forge(by, { ...good.header, ...header }, { ...good.payload, ...claims })
}

/** Refused before anybody is asked about the principal. */
const expectInvalid = async (token: string): Promise<void> => {
  expectRefusal(await server.show(device, token), 400, 'invalid_request')
  expect(server.double.questions).toHaveLength(0)
}

const lastRefusal = async () =>
  (await server.host.server.audit()).filter(({ event }) => event === 'token.refused').at(-1)

describe('an attestation as a subject token', () => {
  it('the forgery is as good as an attestation of ours while nothing in it is wrong', async () => {
    expect((await server.show(device, changed({}))).status).toBe(200)
  })

  it('yields an access token that is bound to the attested key, names the principal and ends with the attestation', async () => {
    const end = now() + 40
    const { status, body } = await server.show(device, changed({ exp: end }))
    expect(status).toBe(200)
    expect(body).toMatchObject({
      token_type: 'DPoP',
      scope: 'read',
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    })
    expect(Object.keys(body)).not.toContain('refresh_token')
    const { header, payload } = decodeJws(String(body['access_token']))
    expect(header['typ']).toBe('at+jwt')
    expect(payload).toMatchObject({
      sub: 'alice',
      client_id: 'fleet',
      aud: api,
      scope: 'read',
      cnf: { jkt: device.jkt },
      did: 'phone-1',
      principal_type: 'device',
      exp: end,
    })
    for (const name of ['att', 'auth_time', 'acr', 'amr', 'sid']) expect(payload).not.toHaveProperty(name)
    const issued = (await server.host.server.audit()).filter(({ event }) => event === 'token.issued').at(-1)
    expect(issued).toMatchObject({ grant_type: grantType, client_id: 'fleet', sub: 'alice', jkt: device.jkt })
  })

  it('XA01 malformed, expired, or from the future', async () => {
    for (const token of ['x', 'a.b.c', `${attestation}x`, attestation.slice(0, -4), '{}', '😀'])
      await expectInvalid(token)
    for (const exp of [now(), now() - 1, 0, null, 'soon', undefined]) await expectInvalid(changed({ exp }))
    for (const claims of [{ iat: now() + 3600 }, { nbf: now() + 3600 }, { iat: undefined }])
      await expectInvalid(changed(claims))
    expectRefusal(await server.exchange(fleet, {}, await server.proof(device)), 400, 'invalid_request')
  })

  it('XA02 of another type, an access token, or a mislabelled type', async () => {
    for (const typ of ['at+jwt', 'JWT', undefined, 'oauth-client-attestation+jwt', 'text/device-attestation+jwt'])
      await expectInvalid(changed({}, { typ }))
    const { body } = await server.show(device, attestation)
    server.double.questions.length = 0
    await expectInvalid(String(body['access_token']))
    await expectInvalid(changed({ client_id: 'fleet' }))
    await expectInvalid(changed({ aud: api, scope: 'read' }))
    for (const type of ['access_token', 'id_token', 'jwt'])
      expectRefusal(
        await server.show(device, attestation, fleet, {
          subject_token_type: `urn:ietf:params:oauth:token-type:${type}`,
        }),
        400,
        'invalid_request',
      )
    const actor = { actor_token: attestation, actor_token_type: attestationType }
    expectRefusal(await server.show(device, attestation, fleet, actor), 400, 'invalid_request')
    expectRefusal(
      await server.show(device, attestation, fleet, {
        actor_token: String(body['access_token']),
        actor_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      }),
      400,
      'invalid_request',
    )
  })

  it('XA03 of another issuer, signed by another key, or with keys in the header', async () => {
    for (const iss of ['https://evil.example', `${server.issuer}/`, undefined]) await expectInvalid(changed({ iss }))
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    await expectInvalid(changed({}, { jwk: publicKey.export({ format: 'jwk' }) }, privateKey))
    await expectInvalid(changed({}, { kid: 'unknown' }))
    await expectInvalid(changed({}, { alg: 'none' }))
    await expectInvalid(changed({}, { crit: ['b64'] }))
  })

  it('XA03 signed with a key that is retired now, and no longer published', async () => {
    const purposes = ['attestation']
    const change = new Date(Date.now() + 3_600_000).toISOString()
    await using rotated = await startAttestedExchange({
      configure: (written) => ({
        ...written,
        keys: [
          keyEntry('tokens', { purposes: ['access_token', 'id_token', 'userinfo'] }),
          keyEntry('old', { purposes, not_after: change }),
          keyEntry('new', { purposes, not_before: change }),
        ],
      }),
    })
    const own = await rotated.device()
    const old = await own.attest()
    rotated.host.later(2 * 3_600_000)
    expect(decodeJws(old).header['kid']).toBe('old')
    expect((await rotated.show(own, old)).status).toBe(200)
    rotated.host.later(30 * 3_600_000)
    expectRefusal(await rotated.show(own, old), 400, 'invalid_request')
  })

  it('XA04 claims that no attestation of this issuer has', async () => {
    for (const cnf of [undefined, {}, { jkt: '' }, { jwk: device.jwk }, { jkt: [device.jkt] }])
      await expectInvalid(changed({ cnf }))
    for (const claims of [{ did: undefined }, { principal_type: 'person' }, { sub: 1 }, { jti: 'x' }])
      await expectInvalid(changed(claims))
    await expectInvalid(changed({ att: { status: 'revoked' } }))
  })

  it('XA05 without a proof, or with a proof by another key', async () => {
    expectRefusal(await server.exchange(fleet, { subject_token: attestation }, undefined), 400, 'invalid_request')
    const other = await server.device({ principal_id: 'phone-2' })
    const stolen = await server.exchange(fleet, { subject_token: attestation }, await server.proof(other))
    expectRefusal(stolen, 400, 'invalid_request')
    expect(server.double.questions).toHaveLength(0)
  })

  it('XA06 a proof that was used, and a proof of another request', async () => {
    const proof = await server.proof(device)
    expect((await server.exchange(fleet, { subject_token: attestation }, proof)).status).toBe(200)
    expectRefusal(await server.exchange(fleet, { subject_token: attestation }, proof), 400, 'invalid_dpop_proof')
    for (const claims of [{ htm: 'GET' }, { htu: `${server.issuer}/par` }, { iat: now() - 3600 }])
      expectRefusal(
        await server.exchange(fleet, { subject_token: attestation }, await server.proof(device, claims)),
        400,
        'invalid_dpop_proof',
      )
  })

  it('XA07 a principal that is revoked, or whose status is unavailable', async () => {
    server.double.current = (_question, refuse) => refuse('revoked by command')
    expectRefusal(await server.show(device, attestation), 400, 'invalid_grant')
    expect(server.double.questions.at(-1)).toEqual({
      principal: { subject: 'alice', principalId: 'phone-1', principalType: 'device' },
      jkt: device.jkt,
      step: 'renewal',
    })
    expect(await lastRefusal()).toMatchObject({
      error: 'invalid_grant',
      client_id: 'fleet',
      reason: 'attestation: revoked by command',
    })
    const proof = await server.proof(device)
    for (const fault of [
      () => Promise.reject(new Unavailable('registry', 'unknown', 'down')),
      () => {
        throw new Error('a bug')
      },
      () => 'yes',
    ]) {
      server.double.current = fault
      const answer = await server.exchange(fleet, { subject_token: attestation }, proof)
      expectRefusal(answer, 503, 'temporarily_unavailable')
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    server.double.reset()
    // The outage has not used the proof up.
    expect((await server.exchange(fleet, { subject_token: attestation }, proof)).status).toBe(200)
  })

  it('XA08 a client that is not allowed to, not for this type of principal, or that does not authenticate', async () => {
    expectRefusal(await server.show(device, attestation, withoutPolicy), 400, 'invalid_request')
    expectRefusal(await server.show(device, attestation, servicesOnly), 400, 'invalid_request')
    const asPublic = {
      client_id: publicFleet.client_id,
      subject_token: attestation,
      subject_token_type: attestationType,
    }
    const proof = await server.proof(device)
    const answer = await server.host.token({ grant_type: grantType, ...asPublic }, { dpop: proof })
    expectRefusal(answer, 400, 'unauthorized_client')
    const wrong = { ...fleet, client_secret: 'wrong' }
    expectRefusal(await server.exchange(wrong, { subject_token: attestation }, proof), 401, 'invalid_client')
    const service = await server.device({ principal_type: 'service', principal_id: 'meter' })
    const shown = await server.show(service, await service.attest(), servicesOnly)
    expect(shown).toMatchObject({ status: 200, body: { scope: 'read' } })
  })

  it('XA09 a scope or a resource beyond the policy and the registration', async () => {
    expectRefusal(await server.show(device, attestation, fleet, { scope: 'read write' }), 400, 'invalid_scope')
    const service = await server.device({ principal_type: 'service', principal_id: 'meter' })
    const own = await service.attest()
    expect((await server.show(service, own, fleet, { scope: 'write' })).body['scope']).toBe('write')
    expect((await server.show(service, own)).body['scope']).toBe('read write')
    expectRefusal(await server.show(service, own, fleet, { scope: 'unregistered' }), 400, 'invalid_scope')
    expectRefusal(
      await server.show(device, attestation, fleet, { resource: 'https://elsewhere.example' }),
      400,
      'invalid_target',
    )
    expectRefusal(await server.show(device, attestation, fleet, { audience: 'elsewhere' }), 400, 'invalid_target')
  })
})
