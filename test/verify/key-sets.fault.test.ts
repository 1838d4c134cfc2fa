import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createVerifier, type Verifier } from '../../libraries/verify/index.js'
import { createTestDevice } from '../support/verify/attested-device.js'
import { startIssuerSite } from '../support/verify/issuer-site.js'
import { reasonOf } from '../support/verify/reason-of.js'

const audience = 'https://api.example'
const minute = 60_000
let now = Date.UTC(2026, 0, 1)
const clock = () => now
const device = createTestDevice(clock)

let site: Awaited<ReturnType<typeof startIssuerSite>>
let verifier: Verifier
beforeEach(async () => {
  now = Date.UTC(2026, 0, 1)
  site = await startIssuerSite(clock)
  verifier = createVerifier({ issuers: [site.url], audience, clock })
})
afterEach(() => site.close())

const send = (attestation: string): Request =>
  new Request(`${audience}/`, {
    headers: { 'x-attestation': attestation, 'x-signature': device.signature({ audience }) },
  })
const check = (claims: object = {}, header: object = {}) =>
  reasonOf(verifier.check(send(site.attest(device.jkt, { ...claims }, { ...header }))))
const keySets = () => site.asked.filter((path) => path === '/jwks.json').length

describe('the keys of an issuer', () => {
  it('are found by its metadata, fetched once by many at once, and kept for ten minutes', async () => {
    expect(await Promise.all(Array.from({ length: 20 }, () => check()))).toEqual(Array(20).fill('accepted'))
    now += 9 * minute
    expect(await check()).toBe('accepted')
    expect(site.asked).toEqual(['/.well-known/openid-configuration', '/jwks.json'])
    now += minute
    expect(await check()).toBe('accepted')
    expect(keySets()).toBe(2)
  })

  it('VR24: an unknown kid makes the verifier look, at most once a minute', async () => {
    expect(await check()).toBe('accepted')
    const unknown = () => check({}, { kid: crypto.randomUUID() })
    expect(await Promise.all(Array.from({ length: 20 }, unknown))).toEqual(Array(20).fill('unknown_kid'))
    expect(keySets()).toBe(1)
    now += minute
    expect(await Promise.all(Array.from({ length: 20 }, unknown))).toEqual(Array(20).fill('unknown_kid'))
    now += minute / 2
    expect(await unknown()).toBe('unknown_kid')
    expect(keySets()).toBe(2)
  })

  it('a rotated key is accepted at once, and VR25: a withdrawn one not beyond the next fetch, however well known', async () => {
    const attestation = site.attest(device.jkt)
    expect(await reasonOf(verifier.check(send(attestation)))).toBe('accepted')
    now += minute
    site.rotate('two')
    expect(await reasonOf(verifier.check(send(attestation)))).toBe('accepted')
    expect(await check()).toBe('accepted')
    expect(keySets()).toBe(2)
    expect(await reasonOf(verifier.check(send(attestation)))).toBe('unknown_kid')
  })

  it('another key with the kid of an earlier one takes its place', async () => {
    const attestation = site.attest(device.jkt)
    expect(await reasonOf(verifier.check(send(attestation)))).toBe('accepted')
    site.rotate('one')
    now += 10 * minute
    expect(await reasonOf(verifier.check(send(attestation)))).toBe('bad_attestation')
    expect(await check()).toBe('accepted')
  })

  it('VR26: while the issuer is down, its keys are used for four hours more, and then the answer is 503', async () => {
    expect(await check()).toBe('accepted')
    site.instead.set('/jwks.json', 500)
    now += 10 * minute
    expect(await check()).toBe('accepted')
    now += 240 * minute - 1
    expect(await check()).toBe('accepted')
    now += 1
    const error = await verifier.check(send(site.attest(device.jkt))).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      reason: 'keys_unavailable',
      answer: { status: 503, headers: { 'retry-after': '5' } },
    })
    site.instead.clear()
    now += 5000
    expect(await check()).toBe('accepted')
  })

  it('VR26: a kid that may be new is 503 while the issuer is down; nobody waits who has a key', async () => {
    expect(await check()).toBe('accepted')
    site.instead.set('/jwks.json', 500)
    now += minute
    expect(await check({}, { kid: 'new' })).toBe('keys_unavailable')
    now += 10 * minute
    expect(await check()).toBe('accepted')
    // The issuer hangs: what is known is verified without it.
    let release: () => void = () => undefined
    site.holdUntil(new Promise<void>((resolve) => (release = resolve)))
    now += 5000
    expect(await check()).toBe('accepted')
    release()
  })

  it('VR26: an issuer that was never reached is 503 and is asked again after five seconds', async () => {
    for (const wrong of [500, 'no JSON', '{"keys":7}', `{"keys":[],"x":"${'x'.repeat(300_000)}"}`]) {
      site.instead.set('/jwks.json', wrong)
      expect(await check()).toBe('keys_unavailable')
      now += 5000
    }
    const fetched = keySets()
    site.instead.clear()
    now -= 1
    expect(await check()).toBe('keys_unavailable')
    expect(keySets()).toBe(fetched)
    now += 1
    expect(await check()).toBe('accepted')
  })

  it('VR27: metadata of another issuer, or with keys at an unsafe place, are not believed', async () => {
    const metadata = '/.well-known/openid-configuration'
    for (const wrong of [
      { issuer: `${site.url}/`, jwks_uri: `${site.url}/jwks.json` },
      { issuer: site.url },
      { issuer: site.url, jwks_uri: 'http://elsewhere.example/jwks.json' },
      { issuer: site.url, jwks_uri: 'file:///etc/passwd' },
      [],
    ]) {
      site.instead.set(metadata, JSON.stringify(wrong))
      expect(await check()).toBe('keys_unavailable')
      now += 5000
    }
    expect(keySets()).toBe(0)
  })

  it('keys that are for nothing here are left out, and the others are used', async () => {
    const jwk = site.publicJwk()
    const keys = [
      { ...jwk, kid: 'enc', use: 'enc' },
      { ...jwk, kid: 'ops', key_ops: ['sign'] },
      { ...jwk, kid: 'alg', alg: 'ES384' },
      { ...jwk, kid: 'bad', x: 'AA' },
      { kty: 'oct', k: 'AAAA', kid: 'oct' },
      { kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'short' },
      'nothing',
    ]
    site.instead.set('/jwks.json', JSON.stringify({ keys: [...keys, jwk] }))
    expect(await check()).toBe('accepted')
    for (const kid of ['enc', 'ops', 'alg', 'bad', 'oct', 'short'])
      expect([kid, await check({}, { kid })]).toEqual([kid, 'unknown_kid'])
  })
})
