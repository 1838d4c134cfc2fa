import { describe, expect, it } from 'vitest'
import { createDevice, indexedDbStore, memoryStore } from '../../libraries/device/index.js'
import { fileKey, fileStore, pkcs11Key } from '../../libraries/device/node/index.js'
import {
  createResourceServer,
  createVerifier,
  createWorkloadVerifier,
  forExpress,
  forFastify,
  forHttp,
  forKoa,
  memoryReplayGuard,
} from '../../libraries/verify/index.js'
import { createAttestationReader } from '../../libraries/verify/attestation.js'
import type { KeySets } from '../../libraries/verify/key-sets.js'
import type { StatusChecker } from '../../libraries/verify/index.js'
import { parseServed, readCompact } from '../../libraries/verify/jws.js'

// What JavaScript callers misspell, which TypeScript does not see.

type Call = (options: never) => unknown

const issuers = ['https://id.example']
const api = { issuers, audience: 'https://api.example' }
const server = createResourceServer(api)
const device = { issuer: 'https://id.example', store: memoryStore() }
const workloads = { trustDomains: [{ trustDomain: 'example', jwks: { keys: [] } }], origin: 'https://api.example' }
const introspection = { endpoint: 'https://id.example/introspect', clientId: 'api', clientSecret: 'x' }

describe.each<[string, Call, object, object]>([
  ['requireAccessToken', (needed) => server.requireAccessToken(needed), { scope: 'read' }, { scope: 1 }],
  ['createResourceServer', (given) => createResourceServer(given), api, { clockSkewSeconds: '30' }],
  [
    'createResourceServer',
    (introspect) => createResourceServer({ ...api, introspection: introspect }),
    introspection,
    { clientId: 1 },
  ],
  ['createVerifier', (given) => createVerifier(given), api, { maxBodyBytes: '1' }],
  ['createWorkloadVerifier', (given) => createWorkloadVerifier(given), workloads, { clock: 1 }],
  ['memoryReplayGuard', (given) => memoryReplayGuard(given), { most: 10 }, { most: '10' }],
  ['createDevice', (given) => createDevice(given), device, { onRenewalFailed: true }],
])('%s', (_name, call, right, wrong) => {
  it('throws for unknown members, or members of a wrong type', () => {
    expect(() => call(right as never)).not.toThrow()
    for (const bad of [{ ...right, scopes: 'read' }, { ...right, ...wrong }, null, 'read', []])
      expect(() => call(bad as never)).toThrow(TypeError)
  })
})

it.each(['scopes', 'acr_values', 'maxage', '__proto__', 'constructor'])(
  'a misspelled requirement protects nothing, and is refused: %s',
  (name) => {
    const needed = JSON.parse(`{"${name}":"read"}`) as never
    expect(() => server.requireAccessToken(needed)).toThrow(TypeError)
  },
)

it('values of acrValues are texts', () => {
  expect(() => server.requireAccessToken({ acrValues: [1] as never })).toThrow(TypeError)
  expect(() => server.requireAccessToken({ acrValues: 'urn:a' as never })).toThrow(TypeError)
})

it('methods of a device reject unknown options', async () => {
  const made = createDevice(device)
  const request = new Request('https://api.example/')
  await expect(made.sign(request, { audience: 'x', expires: 1 } as never)).rejects.toThrow(TypeError)
  await expect(made.signAsWorkload(request, { expiresin: 1 } as never)).rejects.toThrow(TypeError)
  await expect(made.clientProof({ aud: 'x' } as never)).rejects.toThrow(TypeError)
  await expect(pkcs11Key({ module: 'x', pin: '1', label: 'k', slot: '0' } as never)).rejects.toThrow(TypeError)
})

/** A message that names what is wrong. */
const naming = (name: string) => expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(name) })

const jwks = { keys: [] }
const publicJwk = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }
const sign = () => Promise.resolve(new Uint8Array())
const store = memoryStore()
const origin = 'https://api.example'
const certificate = { cert: 'x', key: 'x' }
const introspected = { endpoint: 'https://id.example/introspect', clientId: 'api' }

it.each<[string, () => unknown]>([
  ['audience', () => createVerifier({ issuers } as never)],
  ['issuers', () => createVerifier({ audience: 'x' } as never)],
  ['audience', () => createResourceServer({ issuers, origin } as never)],
  ['origin', () => createWorkloadVerifier({ trustDomains: [{ trustDomain: 'a', jwks }] } as never)],
  ['issuers is empty', () => createVerifier({ ...api, issuers: [] })],
  ['issuers[0]', () => createVerifier({ ...api, issuers: [7] as never })],
  ['issuers[1]', () => createVerifier({ ...api, issuers: ['https://id.example', null] as never })],
  ['issuers[0].jwksUri', () => createVerifier({ ...api, issuers: [{ issuer: 'a', jwksUri: 'https://a' }] as never })],
  ['issuers[0].issuer', () => createVerifier({ ...api, issuers: [{ jwks }] as never })],
  ['issuers[0].jwks', () => createVerifier({ ...api, issuers: [{ issuer: 'a', jwks: [] }] as never })],
  ['issuers[0]', () => createVerifier({ ...api, issuers: [{ issuer: 'a' }] as never })],
  ['issuers[0]', () => createVerifier({ ...api, issuers: [{ issuer: 'a', jwks_uri: 'https://a', jwks }] })],
  ['issuers[0].jwks_uri', () => createResourceServer({ ...api, issuers: [{ issuer: 'a', jwks_uri: 'http://a' }] })],
  ['twice', () => createVerifier({ ...api, issuers: ['https://a', { issuer: 'https://a', jwks }] })],
  ['trustDomains[0].domain', () => createWorkloadVerifier({ origin, trustDomains: [{ domain: 'a', jwks }] as never })],
  ['trustDomains[0]', () => createWorkloadVerifier({ origin, trustDomains: ['a'] as never })],
  ['trustDomains[0]', () => createWorkloadVerifier({ origin, trustDomains: [{ trustDomain: 'a' }] as never })],
  ['twice', () => createWorkloadVerifier({ origin, trustDomains: [1, 2].map(() => ({ trustDomain: 'a', jwks })) })],
  ['replay', () => createVerifier({ ...api, replay: {} as never })],
  ['replay', () => createResourceServer({ ...api, replay: { claims: sign } as never })],
  ['replay', () => createWorkloadVerifier({ ...workloads, replay: {} as never })],
  ['status', () => createVerifier({ ...api, status: { valid: sign } as never })],
  ['maxBodyBytes', () => createVerifier({ ...api, maxBodyBytes: -1 })],
  ['dpopNonceSecret', () => createResourceServer({ ...api, dpopNonceSecret: 7 as never })],
  [
    'introspection.privateKey.pem',
    () => createResourceServer({ ...api, introspection: { ...introspected, privateKey: { pem: 'x' } as never } }),
  ],
  [
    'introspection.certificate.passphrase',
    () =>
      createResourceServer({
        ...api,
        introspection: { ...introspected, certificate: { ...certificate, passphrase: 'x' } as never },
      }),
  ],
  ['introspection.endpoint', () => createResourceServer({ ...api, introspection: { clientId: 'a' } as never })],
  ['issuer', () => createDevice({ issuer: 'id.example', store })],
  ['store', () => createDevice({ issuer: 'https://id.example' } as never)],
  ['store', () => createDevice({ ...device, store: { ...store, keepsKeys: 'no' } as never })],
  ['store', () => createDevice({ ...device, store: { ...store, remove: undefined } as never })],
  ['key', () => createDevice({ ...device, key: { publicJwk } as never })],
  ['key', () => createDevice({ ...device, key: { publicJwk: { ...publicJwk, crv: 'P-384' } as never, sign } })],
  ['key', () => createDevice({ ...device, key: { publicJwk: { ...publicJwk, d: 'x' } as never, sign } })],
  ['path', () => fileStore(undefined as never)],
  ['path', () => fileStore('')],
  ['name', () => indexedDbStore(7 as never)],
  ['checker', () => forExpress(undefined as never)],
  ['checker', () => forKoa({} as never)],
  ['name', () => forFastify(server.requireAccessToken(), 7 as never)],
  ['handler', () => forHttp(server.requireAccessToken(), undefined as never)],
])('what is missing or of another kind is named at creation: %s (%#)', (name, create) => {
  expect(create).toThrow(naming(name))
})

const enrolment = {
  ...{ subject: 's', principalId: 'p', principalType: 'device' as const, secondFactor: { kind: 'code', value: '1' } },
} as const
const request = new Request('https://api.example/')
const made = createDevice(device)

it.each<[string, () => Promise<unknown>]>([
  ['enrolment.second_factor', () => made.enrol({ ...enrolment, second_factor: {} } as never)],
  ['enrolment.principalType', () => made.enrol({ ...enrolment, principalType: 'phone' } as never)],
  ['enrolment.subject', () => made.enrol({ ...enrolment, subject: '' })],
  ['enrolment.secondFactor', () => made.enrol({ ...enrolment, secondFactor: undefined } as never)],
  ['enrolment.secondFactor.value', () => made.enrol({ ...enrolment, secondFactor: { kind: 'code' } } as never)],
  ['enrolment.secondFactor.code', () => made.enrol({ ...enrolment, secondFactor: { code: '1' } } as never)],
  ['enrolment.evidence', () => made.enrol({ ...enrolment, evidence: {} } as never)],
  ['enrolment.signal', () => made.enrol({ ...enrolment, signal: new AbortController() } as never)],
  ['enrolment', () => made.enrol(undefined as never)],
  ['audience', () => made.sign(request, {} as never)],
  ['form', () => made.sign(request, { audience: 'x', form: 'rfc9421' } as never)],
  ['audience', () => made.clientProof({} as never)],
  ['decision', () => made.decide({ approvalId: 'a', expiresIn: 1, request: {} as never }, 'approved' as never)],
  ['decision', () => made.decide({ approvalId: 'a', expiresIn: 1, request: {} as never }, true as never)],
  ['approval.approval_id', () => made.decide({ approval_id: 'a', request: {} } as never, 'approve')],
  ['path', () => fileKey(undefined as never)],
  ['pin', () => pkcs11Key({ module: 'x', label: 'k', slot: 0 } as never)],
  ['given.url', () => createVerifier(api).check(request, { url: '/' } as never)],
  ['given.body', () => createVerifier(api).check(request, { body: 'text' } as never)],
  ['given.target', () => server.requireAccessToken().check(request, { target: new URL(request.url) } as never)],
  ['given', () => createWorkloadVerifier(workloads).check(request, '/x' as never)],
])('what is missing or of another kind is named by a rejection: %s (%#)', async (name, call) => {
  await expect(call()).rejects.toEqual(naming(name))
})

describe('a status checker', () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = {
    ...{ iss: 'https://id.example', sub: 's', did: 'd', principal_type: 'device', iat: 0, exp: 1000 },
    ...{
      cnf: { jkt: 'x'.repeat(43) },
      att: { status: 'active' },
      status: { status_list: { idx: 0, uri: 'https://x' } },
    },
  }
  const text = `${part({ alg: 'ES256', kid: 'k', typ: 'att+jwt' })}.${part(claims)}.AAAA`
  const key = { algs: ['ES256'], verifies: () => true }
  const keySets = { trusts: () => true, find: () => Promise.resolve(key) } as unknown as KeySets
  const read = (answer: unknown) => {
    const status = { isValid: () => answer } as unknown as StatusChecker
    return createAttestationReader({ keySets, status, type: 'att+jwt', skew: 30 })(text, 10)
  }

  it('must return exactly true', async () => {
    expect(await read(Promise.resolve(true))).toMatchObject({ jkt: claims.cnf.jkt })
    for (const answer of ['no', 'true', 1, {}, false, undefined, null])
      await expect(read(Promise.resolve(answer))).rejects.toThrow()
  })
})

describe('JSON of others', () => {
  const part = (text: string) => Buffer.from(text).toString('base64url')

  it('has no repeated members, however they are written and wherever they are', () => {
    const good = '{"alg":"ES256"}'
    expect(() => readCompact(`${part(good)}.${part('{"a":{"b":1}}')}.AAAA`)).not.toThrow()
    for (const bad of [
      '{"a":1,"a":2}',
      '{"a":{"b":1,"\\u0062":2}}',
      '[{"a":1}]',
      `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`,
    ]) {
      expect(() => readCompact(`${part(good)}.${part(bad)}.AAAA`)).toThrow()
      expect(() => readCompact(`${part(bad)}.${part('{}')}.AAAA`)).toThrow()
      expect(() => parseServed(bad)).toThrow()
    }
  })
})
