import { describe, expect, it } from 'vitest'
import { createDevice, memoryStore } from '../../libraries/device/index.js'
import { pkcs11Key } from '../../libraries/device/node/index.js'
import {
  createResourceServer,
  createVerifier,
  createWorkloadVerifier,
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
  it('throws for members that are unknown, or of another type', () => {
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

it('methods of a device reject for options that are unknown', async () => {
  const made = createDevice(device)
  const request = new Request('https://api.example/')
  await expect(made.sign(request, { audience: 'x', expires: 1 } as never)).rejects.toThrow(TypeError)
  await expect(made.signAsWorkload(request, { expiresin: 1 } as never)).rejects.toThrow(TypeError)
  await expect(made.clientProof({ aud: 'x' } as never)).rejects.toThrow(TypeError)
  await expect(pkcs11Key({ module: 'x', pin: '1', label: 'k', slot: '0' } as never)).rejects.toThrow(TypeError)
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

  it('says true and nothing like it', async () => {
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
