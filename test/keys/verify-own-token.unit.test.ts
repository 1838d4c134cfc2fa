import { createHmac, generateKeyPairSync, sign as nodeSign, type KeyObject } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { keyPurposes } from '../../config/keys.js'
import type { JsonObject } from '../../core/json.js'
import type { JwsAlg } from '../../core/jose/jwk.js'
import type { KeyRing } from '../../core/keys/ports.js'
import { verifyOwnToken, type OwnTokenExpectation } from '../../core/tokens/verify-own-token.js'
import { serialize, signingInput } from '../../core/tokens/compact-serializer.js'
import { backend, ec, ed, hour, key, never, open, start } from '../support/signers/memory-signer.js'

const issuer = 'https://id.example'
const now = start / 1000
const claims = { iss: issuer, sub: 'alice', aud: 'api', iat: now, exp: now + 600, jti: '1' }
const mine = ec()
const time = { now: start }
let ring: KeyRing
let expected: OwnTokenExpectation

beforeAll(async () => {
  ring = await open(
    [key('es'), key('ed', { alg: 'EdDSA' }), key('old', { not_after: start + hour })],
    backend(['es', mine], ['ed', ed()], ['old', ec()]),
    time,
  )
  expected = { ring, typ: 'at+jwt', purpose: 'access_token', issuer, clock: () => time.now, toleranceSeconds: 10 }
})

const issue = async (payload: JsonObject = claims, alg: JwsAlg = 'ES256'): Promise<string> => {
  const { kid, signer } = ring.signingKey('access_token', alg)
  const input = signingInput({ alg, kid, typ: 'at+jwt' }, payload)
  return serialize(input, await signer.sign(Buffer.from(input), never))
}

/** A token with any header and payload text, signed by the real key. */
const forge = (header: object | string, payload: object | string = claims, by: KeyObject = mine): string => {
  const text = (part: object | string) => (typeof part === 'string' ? part : JSON.stringify(part))
  const input = `${Buffer.from(text(header)).toString('base64url')}.${Buffer.from(text(payload)).toString('base64url')}`
  return serialize(input, nodeSign('sha256', Buffer.from(input), { key: by, dsaEncoding: 'ieee-p1363' }))
}
const ours = { alg: 'ES256', kid: 'es', typ: 'at+jwt' }
const accepted = async (token: string, more: Partial<OwnTokenExpectation> = {}): Promise<boolean> =>
  (await verifyOwnToken(token, { ...expected, ...more })) !== undefined

describe('a token of ours', () => {
  it('is accepted with its claims and its key, by each algorithm', async () => {
    const publishedKey = expected.ring.publishedKey('es')
    expect(await verifyOwnToken(await issue(), expected)).toEqual({ claims, publishedKey })
    expect(await accepted(await issue(claims, 'EdDSA'))).toBe(true)
    expect(await accepted(forge(ours))).toBe(true)
  })

  it('is accepted for as long as its key is published, next and retired included', async () => {
    const clock = { now: start }
    const changing = await open(
      [key('es', { not_after: start + hour }), key('new', { not_before: start + hour })],
      backend(['es', mine], ['new', ec()]),
      clock,
    )
    const token = forge(ours, { ...claims, exp: now + 100_000 })
    const at = (time: number) => {
      clock.now = time
      return accepted(token, { ring: changing, clock: () => clock.now })
    }
    expect(await at(start)).toBe(true)
    expect(await at(start + hour + 609_999)).toBe(true)
    expect(await at(start + hour + 610_000)).toBe(false)
  })
})

describe('what is refused', () => {
  it('TK09 every purpose except those that the key has or had', async () => {
    const narrow = await open([key('es', { purposes: ['access_token'] })], backend(['es', mine]), time, {
      earlierPurposes: new Map([['es', ['introspection']]]),
    })
    const token = forge(ours)
    for (const purpose of keyPurposes)
      expect(await accepted(token, { ring: narrow, purpose }), purpose).toBe(
        ['access_token', 'introspection'].includes(purpose),
      )
  })

  it.each([
    ['another typ', { ...ours, typ: 'JWT' }],
    ['a longer typ', { ...ours, typ: 'text/at+jwt' }],
    ['a typ with a parameter', { ...ours, typ: 'AT+JWT;X=1' }],
    ['no typ', { alg: 'ES256', kid: 'es' }],
    ['a typ in a list', { ...ours, typ: ['at+jwt'] }],
    ['no kid', { alg: 'ES256', typ: 'at+jwt' }],
    ['a kid that is unknown', { ...ours, kid: 'other' }],
    ['a kid that is an object', { ...ours, kid: { toString: 'es' } }],
    ['a kid of the prototype', { ...ours, kid: '__proto__' }],
    ['a kid with a path', { ...ours, kid: '../../es' }],
    ['a kid of 6 KB', { ...ours, kid: 'x'.repeat(6000) }],
    ['the kid of another key', { ...ours, kid: 'old' }],
    ['another alg', { ...ours, alg: 'ES384' }],
    ['alg none', { ...ours, alg: 'none' }],
    ['alg HS256', { ...ours, alg: 'HS256' }],
    ['alg in a list', { ...ours, alg: ['ES256'] }],
    ['no alg', { kid: 'es', typ: 'at+jwt' }],
    ['crit', { ...ours, crit: ['exp'], exp: 1 }],
    ['b64', { ...ours, crit: ['b64'], b64: false }],
    ['a repeated kid', '{"alg":"ES256","kid":"old","typ":"at+jwt","kid":"es"}'],
    ['a repeated typ', '{"alg":"ES256","kid":"es","typ":"JWT","typ":"at+jwt"}'],
  ])('%s', async (_, header) => {
    expect(await accepted(forge(header))).toBe(false)
  })

  it.each([
    ['another issuer', { ...claims, iss: 'https://evil.example' }],
    ['the issuer with a slash', { ...claims, iss: `${issuer}/` }],
    ['the issuer in a list', { ...claims, iss: [issuer] }],
    ['no issuer', { ...claims, iss: undefined }],
    ['expired', { ...claims, exp: now - 10 }],
    ['no exp', { ...claims, exp: undefined }],
    ['exp null', { ...claims, exp: null }],
    ['exp a string', { ...claims, exp: String(now + 600) }],
    ['exp a fraction too early', { ...claims, exp: now - 10.5 }],
    ['exp too large for an integer', { ...claims, exp: 1e308 }],
    ['exp negative', { ...claims, exp: -1 }],
    ['exp a list', { ...claims, exp: [now + 600] }],
    ['exp true', { ...claims, exp: true }],
    ['no iat', { ...claims, iat: undefined }],
    ['iat a string', { ...claims, iat: String(now) }],
    ['iat ahead', { ...claims, iat: now + 11 }],
    ['nbf ahead', { ...claims, nbf: now + 11 }],
    ['nbf a string', { ...claims, nbf: '0' }],
    ['nbf null', { ...claims, nbf: null }],
    ['a repeated exp', `{"iss":"${issuer}","iat":${now},"exp":1,"exp":${now + 600}}`],
    ['exp beyond a double', `{"iss":"${issuer}","iat":${now},"exp":1e999}`],
    ['a payload that is a list', '[]'],
  ])('%s', async (_, payload) => {
    expect(await accepted(forge(ours, payload))).toBe(false)
  })

  it('a signature by another key, whatever keys the header names', async () => {
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = stranger.publicKey.export({ format: 'jwk' })
    for (const hint of [
      {},
      { jwk },
      { jku: 'https://evil.example/jwks' },
      { x5u: 'https://evil.example' },
      { x5c: ['MIIB'] },
    ])
      expect(await accepted(forge({ ...ours, ...hint }, claims, stranger.privateKey))).toBe(false)
  })

  it('an HMAC keyed with our public key', async () => {
    const pem = ring.publishedKey('es')?.publicKey.export({ type: 'spki', format: 'pem' }) as string
    for (const alg of ['HS256', 'ES256']) {
      const [head, body] = forge({ ...ours, alg }).split('.')
      const mac = createHmac('sha256', pem).update(`${head}.${body}`).digest()
      expect(await accepted(serialize(`${head}.${body}`, mac))).toBe(false)
      expect(await accepted(serialize(`${head}.${body}`, Buffer.concat([mac, mac])))).toBe(false)
    }
  })

  it('a signature that is cut, extended, in DER, of zeros, or of another token', async () => {
    const [head = '', body = '', tail = ''] = (await issue()).split('.')
    const signature = Buffer.from(tail, 'base64url')
    const input = `${head}.${body}`
    const der = nodeSign('sha256', Buffer.from(input), { key: mine, dsaEncoding: 'der' })
    const wrong = [
      signature.subarray(1),
      Buffer.concat([signature, Buffer.alloc(1)]),
      der,
      Buffer.alloc(64),
      Buffer.alloc(1),
    ]
    for (const bytes of wrong) expect(await accepted(serialize(input, bytes))).toBe(false)
    const [, otherBody = ''] = (await issue({ ...claims, sub: 'mallory' })).split('.')
    expect(await accepted(`${head}.${otherBody}.${tail}`)).toBe(false)
    expect(await accepted(`${input}.${tail}`)).toBe(true)
  })

  it('any one character changed, added or removed', async () => {
    const token = await issue()
    for (let at = 0; at <= token.length; at += 7)
      for (const put of ['', '=', '\n', 'A', token.charAt(at) === 'b' ? 'c' : 'b'])
        for (const skip of [0, 1]) {
          const edited = token.slice(0, at) + put + token.slice(at + skip)
          if (edited !== token) expect(await accepted(edited), edited).toBe(false)
        }
  })
})

describe('time', () => {
  it('is tolerated by the given seconds and no more', async () => {
    const at = async (seconds: number, more: Partial<OwnTokenExpectation> = {}) => {
      const token = forge(ours, { ...claims, nbf: now })
      return accepted(token, { clock: () => (now + seconds) * 1000, ...more })
    }
    expect([await at(-11), await at(-10), await at(609), await at(610)]).toEqual([false, true, true, false])
    expect([await at(100_000, { expired: 'accepted' }), await at(-11, { expired: 'accepted' })]).toEqual([true, false])
  })
})
