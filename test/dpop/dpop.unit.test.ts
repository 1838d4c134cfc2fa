import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDiscovery } from '../../core/endpoints/discovery.js'
import { createAccessTokens } from '../../core/endpoints/access-token.js'
import type { EndpointRequest } from '../../core/endpoints/message.js'
import { createDpop } from '../../core/oauth/dpop.js'
import { normaliseHtu } from '../../libraries/wire/htu.js'
import { createNonces } from '../../core/oauth/dpop-nonce.js'
import { noParameters } from '../../core/oauth/requests/params.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { Unavailable } from '../../core/unavailable.js'
import { createProver } from '../support/clients/dpop-proof.js'

let path: string
let store: StorageBackend
beforeAll(async () => {
  path = await mkdtemp(join(tmpdir(), 'signet-dpop-'))
  store = await openEmbedded({ path, clock: Date.now })
})
afterAll(async () => {
  await store[Symbol.asyncDispose]()
  await rm(path, { recursive: true })
})

describe('htu (RFC 3986 §6.2)', () => {
  it.each([
    ['HTTPS://Bank.Example:443/op/token?x#y', 'https://bank.example/op/token'],
    ['http://bank.example:80', 'http://bank.example/'],
    ['https://bank.example:/token', 'https://bank.example/token'],
    ['https://bank.example:8443/a/./b/../%7etoken', 'https://bank.example:8443/a/~token'],
    ['https://bank.example/%2e%2E/to%6ben', 'https://bank.example/token'],
    ['https://bank.example/a%2fb', 'https://bank.example/a%2Fb'],
    ['https://bank.example/a/..', 'https://bank.example/'],
    ['https://bank.example/a//b', 'https://bank.example/a//b'],
    ['https://b%61nk.example/token', 'https://bank.example/token'],
    ['http://[::1]:3000/token', 'http://[::1]:3000/token'],
  ])('%s is %s', (htu, normal) => {
    expect(normaliseHtu(htu)).toBe(normal)
    expect(normaliseHtu(normal)).toBe(normal)
  })

  it.each([
    ...['', '/token', 'bank.example/token', 'https:bank.example', 'https:///token', 'https://a@bank.example/token'],
    ...[
      'https://bank.example\\token',
      'https://bank.example/%',
      'https://bank.example/%zz',
      'https://bank.example/a b',
    ],
    ...['https://bank.example:x/', 'https://bank.example:123456/', 'https://bänk.example/', ' https://bank.example/'],
    ...['https://bank.example/\n', 'urn:a:b', 'javascript:alert(1)', 'https://[::1/token', 'https://bank.example/é'],
  ])('%j is not a URL', (htu) => expect(normaliseHtu(htu)).toBeUndefined())

  it('does not grow with the square of its length', () => {
    const long = `https://bank.example/${'../a/.%41'.repeat(20_000)}`
    expect(normaliseHtu(long)).toMatch(/^https:/)
    expect(normaliseHtu(`${long} `)).toBeUndefined()
  })
})

describe('nonces', () => {
  it('are the same at all replicas, also when many request the secret at once', async () => {
    const secrets = store.records<string>('secrets')
    const now = 1_790_000_000_000
    const replicas = Array.from({ length: 8 }, () => createNonces({ proofs: {}, secrets, clock: () => now }))
    const found = await Promise.all(replicas.map((nonces) => nonces()))
    expect(new Set(found.map(({ current }) => current)).size).toBe(1)
    const another = await createNonces({ proofs: {}, secrets: store.records<string>('other'), clock: () => now })()
    expect(another.current).not.toBe(found[0]?.current)
  })

  it('of a replica whose clock is a minute ahead or behind are accepted', async () => {
    const secrets = store.records<string>('secrets')
    for (let start = 1_790_000_000_000; start < 1_790_000_400_000; start += 17_000) {
      const { accepted } = await createNonces({ proofs: {}, secrets, clock: () => start })()
      for (const skew of [-60_000, 0, 60_000])
        expect(accepted).toContain((await createNonces({ proofs: {}, secrets, clock: () => start + skew })()).current)
      expect(accepted).not.toContain(
        (await createNonces({ proofs: {}, secrets, clock: () => start - 361_000 })()).current,
      )
    }
  })
})

describe('a clock that jumps between the check of a proof and its claim (F23)', () => {
  it('never claims a jti for a time that has passed', async () => {
    const issuer = 'https://bank.example'
    let now = Date.now()
    const lifetimes: number[] = []
    const claim = (_space: string, _id: string, seconds: number) => Promise.resolve(lifetimes.push(seconds) > 0)
    const secrets = store.records<string>('secrets')
    const dpop = createDpop({ bases: [issuer], clock: () => now, toleranceSeconds: 10, proofs: { claim }, secrets })
    const check = async () => {
      const nonce = (await dpop.nonceHeader())['DPoP-Nonce']
      const proof = createProver('ES256', () => now).proof(`${issuer}/token`, nonce)
      return dpop.check({ proof, method: 'POST', path: '/token' })
    }
    const [before, overtaken] = [await check(), await check()]
    await before.claim()
    now += 3_600_000
    await expect(overtaken.claim()).rejects.toMatchObject({ code: 'invalid_dpop_proof' })
    expect(lifetimes).toEqual([110])
  })
})

describe('a store that is down', () => {
  const down = (): Promise<never> => Promise.reject(new Unavailable('storage.ephemeral', 'no', 'down'))
  const issuer = 'https://bank.example'
  const request = { method: 'POST', path: '/token' }

  it('is an outage, for nonces and for proofs, never a refusal', async () => {
    const options = { bases: [issuer], clock: Date.now, toleranceSeconds: 10 }
    const secrets = store.records<string>('secrets')
    const without = { ...secrets, find: down }
    const prover = createProver()
    const dark = createDpop({ ...options, proofs: store.replayGuard('dpop_proofs'), secrets: without })
    await expect(dark.check({ ...request, proof: 'x' })).rejects.toBeInstanceOf(Unavailable)
    const dpop = createDpop({ ...options, proofs: { claim: down }, secrets })
    const { 'DPoP-Nonce': nonce } = await dpop.nonceHeader()
    const proof = await dpop.check({ ...request, proof: prover.proof(`${issuer}/token`, nonce) })
    expect(proof.jkt).toBe(prover.jkt)
    await expect(proof.claim()).rejects.toBeInstanceOf(Unavailable)
  })
})

describe('without a replay guard', () => {
  it('DPoP is not advertised', async () => {
    const metadata = async (dpopAlgs?: readonly 'ES256'[]) => {
      const algs = () => ['ES256'] as const
      const reply = await createDiscovery([], {
        issuer: 'https://bank.example',
        scopes: [],
        claims: [],
        responseTypes: [],
        grantTypes: [],
        clientAuthMethods: [],
        acrValues: [],
        uiLocales: [],
        subjectTypes: ['public'],
        securityProfile: 'oauth2',
        requirePushedRequests: false,
        fetchesRequests: false,
        requireSignedRequests: false,
        detailsTypes: [],
        idTokenAlgs: algs,
        userinfoAlgs: algs,
        introspectionAlgs: algs,
        responseAlgs: algs,
        ...(dpopAlgs && { dpopAlgs }),
      })({ header: () => undefined } as unknown as EndpointRequest)
      return JSON.parse(String(reply.body)) as Record<string, unknown>
    }
    expect(await metadata()).not.toHaveProperty('dpop_signing_alg_values_supported')
    expect(await metadata(['ES256'])).toHaveProperty('dpop_signing_alg_values_supported', ['ES256'])
  })

  it('the scheme is refused, and a bound token is useless', async () => {
    const { readToken, checkSender } = createAccessTokens('/userinfo', undefined)
    const request = (authorization: string) =>
      ({
        form: noParameters,
        query: noParameters,
        header: (name: string) => (name === 'authorization' ? authorization : 'x.y.z'),
      }) as unknown as EndpointRequest
    const refused = { code: 'invalid_token', headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } }
    expect(() => readToken(request('DPoP abc'))).toThrow(expect.objectContaining(refused))
    const token = readToken(request('Bearer abc'))
    await expect(checkSender(request('Bearer abc'), token, { jkt: 'x' })).rejects.toMatchObject(refused)
    expect(await checkSender(request('Bearer abc'), token, undefined)).toBeUndefined()
  })
})
