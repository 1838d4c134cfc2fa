import { createHash, createHmac, generateKeyPairSync } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { createVerifier, memoryReplayGuard, type Verifier } from '../../libraries/verify/index.js'
import { createTestDevice, createTestIssuer } from '../support/verify/attested-device.js'
import { reasonOf } from '../support/verify/reason-of.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

const origin = 'https://api.example'
let now = Date.UTC(2026, 0, 1)
const clock = () => now
const issuer = createTestIssuer('https://issuer.example', clock)
const device = createTestDevice(clock)
const thief = createTestDevice(clock)

const make = (options = {}): Verifier =>
  createVerifier({ issuers: [{ issuer: issuer.issuer, jwks: issuer.jwks() }], audience: origin, clock, ...options })

let verifier: Verifier
beforeEach(() => {
  now = Date.UTC(2026, 0, 1)
  verifier = make()
})

const request = (attestation: string, signature: string | undefined, target = '/a', init: RequestInit = {}): Request =>
  new Request(`${origin}${target}`, {
    ...init,
    headers: { 'x-attestation': attestation, ...(signature !== undefined && { 'x-signature': signature }) },
  })

const hmac = (header: object, payload: object, secret: string): string => {
  const input = [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

describe('hostile tokens', () => {
  const good = () => device.signature({ target: '/a', audience: origin })
  const check = (attestation: string, signature: string) => reasonOf(verifier.check(request(attestation, signature)))

  it('an attestation and a signature may spell their types in another case', async () => {
    for (const typ of spellingsOf('device-attestation+jwt'))
      expect(await check(issuer.attest(device.jkt, {}, { typ }), good())).toBe('accepted')
    for (const typ of spellingsOf('device-signature+jwt')) {
      const signature = device.signature({ target: '/a', audience: origin, header: { typ } })
      expect(await check(issuer.attest(device.jkt), signature)).toBe('accepted')
    }
  })

  it('VR13: no algorithm but the one of the key, in either token', async () => {
    const at = now / 1000
    const claims = {
      iss: issuer.issuer,
      sub: 'mallory',
      iat: at,
      exp: at + 60,
      cnf: { jkt: device.jkt },
      did: 'd',
      att: {},
      principal_type: 'device',
    }
    const head = { kid: 'one', typ: 'device-attestation+jwt' }
    for (const alg of ['HS256', 'none', 'None', 'ES384', 'RS256', 'PS256', 'EdDSA', '', undefined, 7])
      expect(await check(hmac({ ...head, alg }, claims, JSON.stringify(issuer.publicJwk())), good())).toBe('bad_alg')
    const typ = 'device-signature+jwt'
    for (const alg of ['HS256', 'none', 'ES384', 'RS256', undefined])
      expect(
        await check(issuer.attest(device.jkt), hmac({ alg, typ, jwk: device.jwk }, { iat: at }, device.jwk.x)),
      ).toBe('bad_alg')
  })

  it('VR14: an attestation alone, a signature alone and the two of different devices are worth nothing', async () => {
    expect(await reasonOf(verifier.check(request(issuer.attest(device.jkt), undefined)))).toBe('missing_credential')
    expect(await check('', good())).toBe('missing_credential')
    expect(await check(issuer.attest(device.jkt), thief.signature({ target: '/a', audience: origin }))).toBe(
      'key_not_bound',
    )
  })

  it('VR15: keys that are no public P-256 key in its one spelling', async () => {
    const { x, y } = device.jwk
    const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    const offCurve = { kty: 'EC', crv: 'P-256', x, y: x }
    for (const jwk of [
      undefined,
      null,
      'key',
      [],
      {},
      other,
      { ...device.jwk, d: x },
      { ...device.jwk, k: 'AA' },
      { ...device.jwk, x: `${x}=` },
      { ...device.jwk, y: [y] },
      { ...device.jwk, kty: 'ec' },
      { ...device.jwk, crv: 'P-384' },
    ])
      expect(
        await check(issuer.attest(device.jkt), device.signature({ target: '/a', audience: origin, header: { jwk } })),
      ).toBe('bad_jwk')
    const jkt = createHash('sha256').update(`{"crv":"P-256","kty":"EC","x":"${x}","y":"${x}"}`).digest('base64url')
    const signature = device.signature({ target: '/a', audience: origin, header: { jwk: offCurve } })
    expect(await check(issuer.attest(jkt), signature)).toBe('bad_jwk')
  })

  it('VR16: what cannot be read', async () => {
    const attestation = issuer.attest(device.jkt)
    const [header = '', payload = '', bytes = ''] = good().split('.')
    const list = Buffer.from('[]').toString('base64url')
    const spoilt = [
      'x',
      '..',
      `${header}.${payload}`,
      `${header}.${payload}.`,
      `${header}..${bytes}`,
      `${header}.${payload}.${bytes}.`,
      `${header}.${payload}.${bytes}=`,
      `${header}.${payload}.${bytes}+`,
      `${header}\t.${payload}.${bytes}`,
      `${list}.${payload}.${bytes}`,
      `${header}.${list}.${bytes}`,
      `${header}.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.${bytes}`,
      `${good()}, ${good()}`,
    ]
    for (const text of spoilt) {
      expect(await check(attestation, text)).toBe('malformed')
      expect(await check(text, good())).toBe('malformed')
    }
    const claims: object[] = [
      { iat: '1' },
      { exp: null },
      { iat: 1.5 },
      { exp: 1e300 },
      { jti: '' },
      { jti: 7 },
      { jti: 'x'.repeat(257) },
      { qsh: 'A'.repeat(64) },
      { bdh: '' },
    ]
    for (const wrong of claims)
      expect(await check(attestation, device.signature({ target: '/a', audience: origin, claims: { ...wrong } }))).toBe(
        'malformed',
      )
    const crit = { crit: ['b64'], b64: false }
    expect(await check(attestation, device.signature({ target: '/a', audience: origin, header: crit }))).toBe(
      'malformed',
    )
    for (const wrong of [{ cnf: {} }, { did: 7 }, { principal_type: undefined }, { att: null }, { exp: 'never' }])
      expect(await check(issuer.attest(device.jkt, wrong), good())).toBe('malformed')
  })

  it('VR17: tokens that are too long', async () => {
    expect(await check('x'.repeat(8193), good())).toBe('header_too_large')
    expect(await check(issuer.attest(device.jkt), 'x'.repeat(4097))).toBe('header_too_large')
  })

  it('VR18: a body or a query that nobody signed', async () => {
    const bare = device.signature({ method: 'POST', target: '/a', audience: origin })
    const attestation = issuer.attest(device.jkt)
    const post = { method: 'POST', body: 'added' }
    expect(await reasonOf(verifier.check(request(attestation, bare, '/a', post)))).toBe('body_mismatch')
    expect(await reasonOf(verifier.check(request(attestation, good(), '/a?added=1')))).toBe('query_mismatch')
    expect(await reasonOf(verifier.check(request(attestation, good(), '/A')))).toBe('path_mismatch')
    expect(await reasonOf(verifier.check(request(attestation, good(), '/%61')))).toBe('path_mismatch')
  })

  it('VR19: a signature for another verifier, and one again at another endpoint or in another process', async () => {
    const replay = memoryReplayGuard({ clock })
    const [one, two] = [make({ replay }), make({ replay })]
    const elsewhere = make({ audience: 'https://other.example' })
    const sent = () => request(attestation, signature)
    const attestation = issuer.attest(device.jkt)
    const signature = good()
    expect(await reasonOf(elsewhere.check(sent()))).toBe('audience_mismatch')
    expect(await reasonOf(one.check(request(attestation, signature, '/b')))).toBe('path_mismatch')
    expect(await reasonOf(one.check(sent()))).toBe('accepted')
    expect(await reasonOf(two.check(sent()))).toBe('replay_detected')
    expect(await reasonOf(one.check(sent()))).toBe('replay_detected')
  })

  it('VR20: the clock may differ by the skew, in either direction, and by no second more', async () => {
    const at = now / 1000
    const when = (iat: number, exp: number) =>
      check(issuer.attest(device.jkt), device.signature({ target: '/a', audience: origin, claims: { iat, exp } }))
    expect(await when(at + 30, at + 90)).toBe('accepted')
    expect(await when(at + 31, at + 90)).toBe('signature_expired')
    expect(await when(at - 90, at - 30)).toBe('accepted')
    expect(await when(at - 90, at - 31)).toBe('signature_expired')
    expect(await when(at, at + 300)).toBe('accepted')
    const issued = async (claims: object) => check(issuer.attest(device.jkt, { ...claims }), good())
    expect(await issued({ nbf: at + 30 })).toBe('accepted')
    expect(await issued({ nbf: at + 31 })).toBe('attestation_expired')
    expect(await issued({ iat: at + 31 })).toBe('attestation_expired')
    expect(await issued({ exp: at - 30 })).toBe('accepted')
    expect(await issued({ exp: at - 31 })).toBe('attestation_expired')
  })

  it('an attestation that was accepted before ends like any other', async () => {
    const attestation = issuer.attest(device.jkt, { exp: now / 1000 + 10 })
    expect(await check(attestation, good())).toBe('accepted')
    now += 41_000
    expect(await check(attestation, good())).toBe('attestation_expired')
  })

  it('VR21: bodies have a bound, with and without a length, and it is answered with 413', async () => {
    const small = make({ maxBodyBytes: 4 })
    const attestation = issuer.attest(device.jkt)
    const sent = (body: string, init: object) =>
      request(attestation, device.signature({ method: 'POST', target: '/a', body, audience: origin }), '/a', {
        method: 'POST',
        ...init,
      })
    const inChunks = (text: string) => ({
      body: new ReadableStream({
        start(controller) {
          for (const letter of text) controller.enqueue(Buffer.from(letter))
          controller.close()
        },
      }),
      duplex: 'half',
    })
    expect(Buffer.from((await small.check(sent('1234', { body: '1234' }))).body).toString()).toBe('1234')
    expect(Buffer.from((await small.check(sent('1234', inChunks('1234')))).body).toString()).toBe('1234')
    for (const init of [{ body: '12345' }, inChunks('12345')]) {
      const error = await small.check(sent('12345', init)).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ reason: 'body_too_large', answer: { status: 413 } })
    }
  })
})

describe('createVerifier', () => {
  it('refuses options that make no sense', () => {
    expect(() => make({ audience: '' })).toThrow(TypeError)
    expect(() => make({ issuers: [] })).toThrow(TypeError)
    expect(() => make({ issuers: ['http://issuer.example'] })).toThrow(TypeError)
    expect(() => make({ origin: 'https://api.example/path' })).toThrow(TypeError)
    expect(() => make({ clockSkewSeconds: 301 })).toThrow(TypeError)
  })
})
