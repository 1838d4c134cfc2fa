import { createRemoteJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDevice, memoryStore, type DeviceOptions } from '../../libraries/device/index.js'
import { createWorkloadVerifier } from '../../libraries/verify/index.js'
import { decodeJws, type Device } from '../support/clients/attestation.js'
import { expectNamed, startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'
import { reasonOf } from '../support/verify/reason-of.js'

type Json = Record<string, unknown>

const service = { principal_type: 'service', subject: 'payments', principal_id: 'api-1' }

let server: AttestationServer
beforeAll(async () => {
  server = await startAttestationServer({
    section: { workload_identity: { identifier: 'spiffe://bank.example/{subject}/{principal_id}' } },
    status: true,
  })
})
afterAll(() => server[Symbol.asyncDispose]())

/** What `/enrol/complete` answers. */
const enrolled = async (device: Device): Promise<Json> => (await device.complete(await device.challenge())).body
const tokenOf = async (wishes: Json): Promise<unknown> =>
  (await enrolled(await server.device({ ...service, ...wishes })))['workload_identity_token']

it('a service gets a token that names the workload and its key, without an audience', async () => {
  const device = await server.device(service)
  const body = await enrolled(device)
  const token = String(body['workload_identity_token'])
  const other = decodeJws(String(body['attestation']))
  const { header, payload } = decodeJws(token)
  expect(header).toEqual({ alg: 'ES256', kid: other.header['kid'], typ: 'wit+jwt' })
  expect(payload).toEqual({
    sub: 'spiffe://bank.example/payments/api-1',
    iat: other.payload['iat'],
    nbf: other.payload['iat'],
    exp: other.payload['exp'],
    jti: expect.stringMatching(/^[\w-]{22}$/) as string,
    cnf: { jwk: { ...device.jwk, alg: 'ES256' } },
  })
  const lines = await server.host.server.audit()
  const signed = lines.filter(({ event }) => event === 'attestation.signed').at(-1)
  expect((signed?.['signatures'] as Json[]).map(({ typ }) => typ)).toEqual(['device-attestation+jwt', 'wit+jwt'])
  expect(lines.filter(({ event }) => event === 'attestation.issued').at(-1)).toMatchObject({
    did: 'api-1',
    workload: 'spiffe://bank.example/payments/api-1',
  })
})

it('the trust bundle has only the keys of such tokens, and any JOSE library reads both', async () => {
  const url = `${server.issuer}/trust-bundle.json`
  const response = await fetch(url)
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  const bundle = (await response.json()) as JSONWebKeySet & Json
  expect(bundle['spiffe_refresh_hint']).toBeGreaterThan(0)
  expect(bundle.keys.length).toBeGreaterThan(0)
  for (const key of bundle.keys) expect(key).toMatchObject({ use: 'wit-svid', kid: expect.any(String) as string })
  expect(JSON.stringify(bundle)).not.toContain('"d":')
  const again = await fetch(url, { headers: { 'if-none-match': String(response.headers.get('etag')) } })
  expect(again.status).toBe(304)
  // `use` is not `sig`: a reader of ID tokens does not take these keys for its own.
  const token = String(await tokenOf({}))
  const keys = createRemoteJWKSet(new URL(url))
  await expect(jwtVerify(token, keys)).rejects.toThrow(/no applicable key/)
  const asSig = { keys: bundle.keys.map((key) => ({ ...key, use: 'sig' })) }
  const { createLocalJWKSet } = await import('jose')
  const options = { typ: 'wit+jwt', currentDate: new Date(server.host.now()) }
  const { payload } = await jwtVerify(token, createLocalJWKSet(asSig), options)
  expect(payload.sub).toBe('spiffe://bank.example/payments/api-1')
})

it('WI01 devices get none, nor does a service whose names are not valid path segments', async () => {
  const phone = await enrolled(await server.device({ principal_id: 'phone-1' }))
  expect(Object.keys(phone)).toEqual(['attestation', 'expires_in', 'reissue_after'])
  for (const [subject, principal_id] of [
    ['payments', 'api/1'],
    ['payments/api', '1'],
    ['..', 'api-1'],
    ['payments', '.'],
    ['payments', 'api%2F1'],
    ['payments', 'api-1?x'],
    ['payments', 'api 1'],
    ['päyments', 'api-1'],
    ['{principal_id}', 'api-1'],
  ])
    expect(await tokenOf({ subject, principal_id })).toBeUndefined()
  expect(decodeJwt(String(await tokenOf({ subject: 'a.b', principal_id: 'c_d-E' }))).sub).toBe(
    'spiffe://bank.example/a.b/c_d-E',
  )
})

it('WI02 a revoked service gets no further token', async () => {
  const device = await server.device({ ...service, principal_id: 'api-2' })
  const attestation = String((await enrolled(device))['attestation'])
  const renewed = await device.complete((await device.reissue(attestation)).body['challenge'])
  expect(decodeJws(String(renewed.body['workload_identity_token'])).payload['sub']).toBe(
    'spiffe://bank.example/payments/api-2',
  )
  server.double.current = () => undefined
  expectNamed(await device.reissue(attestation), 'PrincipalRevoked')
  server.double.reset()
})

it('a service signs as a workload, and the receiver learns which', async () => {
  const options: DeviceOptions = { issuer: server.issuer, store: memoryStore(), clock: server.host.now }
  const device = createDevice(options)
  const secondFactor = { kind: 'word', value: 'right' }
  await device.enrol({ subject: 'payments', principalId: 'api-3', principalType: 'service', secondFactor })
  const verifier = createWorkloadVerifier({
    trustDomains: [{ trustDomain: 'bank.example', jwks_uri: `${server.issuer}/trust-bundle.json` }],
    origin: 'https://ledger.bank.example',
    clock: server.host.now,
  })
  const url = 'https://ledger.bank.example/entries?from=1'
  const headers = { 'txn-token': 'ey.J9.x' }
  const signed = await device.signAsWorkload(new Request(url, { method: 'POST', body: '{}', headers }))
  expect(await signed.clone().text()).toBe('{}')
  expect(await verifier.check(signed.clone())).toMatchObject({
    workload: 'spiffe://bank.example/payments/api-3',
    trustDomain: 'bank.example',
  })
  expect(await reasonOf(verifier.check(signed))).toBe('replay_detected')
  const withOther = new Request(url, { headers: { authorization: 'Bearer x' } })
  await expect(device.signAsWorkload(withOther)).rejects.toThrow(TypeError)
  await expect(device.clientProof({ audience: server.issuer })).rejects.toMatchObject({ errorCode: 'NotIssued' })
  await device.forget()
})
