import { createHash, generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto'
import { createServer, get, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  createWorkloadVerifier,
  forHttp,
  VerificationError,
  type WorkloadVerifier,
} from '../../libraries/verify/index.js'
import { reasonOf } from '../support/verify/reason-of.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

type Json = Record<string, unknown>

const origin = 'https://ledger.example'
let now = Date.UTC(2026, 0, 1)
const clock = () => now
const seconds = () => Math.floor(now / 1000)

const newKey = (namedCurve = 'P-256') => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
  return { privateKey, jwk: publicKey.export({ format: 'jwk' }) as Json }
}
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const compact = (header: Json, payload: Json, key: KeyObject, hash = 'sha256'): string => {
  const input = `${encode(header)}.${encode(payload)}`
  return `${input}.${sign(hash, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}
const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url')

const authority = newKey()
const workload = newKey()
const thief = newKey()
const bundleOf = (members: Json = {}) => ({
  keys: [{ ...authority.jwk, kid: 'one', alg: 'ES256', use: 'wit-svid', ...members }],
})

const tokenWith = (claims: Json = {}, header: Json = {}, key = authority.privateKey): string =>
  compact(
    { alg: 'ES256', kid: 'one', typ: 'wit+jwt', ...header },
    {
      sub: 'spiffe://bank.example/payments/api-1',
      iat: seconds(),
      exp: seconds() + 3600,
      cnf: { jwk: { ...workload.jwk, alg: 'ES256' } },
      ...claims,
    },
    key,
  )
const proofWith = (token: string, claims: Json = {}, header: Json = {}, key = workload.privateKey): string =>
  compact(
    { alg: 'ES256', typ: 'wpt+jwt', ...header },
    { aud: `${origin}/entries`, exp: seconds() + 60, jti: randomUUID(), wth: sha256(token), ...claims },
    key,
  )
const requestOf = (token: string, proof: string, headers: Record<string, string> = {}, target = '/entries?a=1') =>
  new Request(`${origin}${target}`, {
    headers: { 'workload-identity-token': token, authorization: `WPT ${proof}`, ...headers },
  })

const make = (options = {}): WorkloadVerifier =>
  createWorkloadVerifier({
    trustDomains: [{ trustDomain: 'bank.example', jwks: bundleOf() }],
    origin,
    clock,
    ...options,
  })
let verifier: WorkloadVerifier
beforeEach(() => {
  now = Date.UTC(2026, 0, 1)
  verifier = make()
})
const reason = (token: string, proof = proofWith(token)): Promise<string> =>
  reasonOf(verifier.check(requestOf(token, proof)))

it('lets a workload pass, whatever the case of the scheme, and says who it is', async () => {
  const token = tokenWith()
  const request = requestOf(token, proofWith(token))
  request.headers.set('authorization', request.headers.get('authorization')!.replace('WPT', 'wpt'))
  const found = await verifier.check(request)
  expect(found).toMatchObject({ workload: 'spiffe://bank.example/payments/api-1', trustDomain: 'bank.example' })
  const { crv, kty, x, y } = workload.jwk
  expect(found.jkt).toBe(sha256(JSON.stringify({ crv, kty, x, y })))
})

describe('the token', () => {
  it.each<[string, Json, Json, string]>([
    ['of another type', {}, { typ: 'device-attestation+jwt' }, 'wrong_type'],
    ['of no type', {}, { typ: undefined }, 'wrong_type'],
    ['without a signature', {}, { alg: 'none' }, 'bad_alg'],
    ['by an algorithm of another key', {}, { alg: 'ES384' }, 'bad_alg'],
    ['by a key that nobody publishes', {}, { kid: 'two' }, 'unknown_kid'],
    ['that brings its key', {}, { kid: undefined, jwk: authority.jwk }, 'unknown_kid'],
    ['of another trust domain', { sub: 'spiffe://shop.example/api' }, {}, 'untrusted_issuer'],
    [
      'whose issuer is trusted and its domain not',
      { sub: 'spiffe://shop.example/a', iss: 'bank.example' },
      {},
      'untrusted_issuer',
    ],
    ['whose domain is inherited', { sub: 'spiffe://constructor/a' }, {}, 'untrusted_issuer'],
    ['for somebody', { aud: 'https://ledger.example' }, {}, 'malformed'],
    ['for ever', { exp: undefined }, {}, 'malformed'],
    ['of the past', { exp: 1 }, {}, 'token_expired'],
    ['of the future', { nbf: 4_000_000_000 }, {}, 'token_expired'],
    ['of a domain alone', { sub: 'spiffe://bank.example' }, {}, 'malformed'],
    ['with dots in the path', { sub: 'spiffe://bank.example/a/../b' }, {}, 'malformed'],
    ['with an empty segment', { sub: 'spiffe://bank.example//b' }, {}, 'malformed'],
    ['with a port', { sub: 'spiffe://bank.example:443/b' }, {}, 'malformed'],
    ['with a query', { sub: 'spiffe://bank.example/b?c' }, {}, 'malformed'],
    ['that names a web page', { sub: 'https://bank.example/b' }, {}, 'malformed'],
    ['without a key', { cnf: undefined }, {}, 'bad_jwk'],
    ['with a thumbprint alone', { cnf: { jkt: 'x' } }, {}, 'bad_jwk'],
    ['whose key has no algorithm', { cnf: { jwk: workload.jwk } }, {}, 'bad_jwk'],
    ['whose key has no signature', { cnf: { jwk: { ...workload.jwk, alg: 'none' } } }, {}, 'bad_jwk'],
    ['with a shared secret', { cnf: { jwk: { kty: 'oct', k: 'AAAA', alg: 'HS256' } } }, {}, 'bad_jwk'],
    ['with a private key', { cnf: { jwk: { ...workload.jwk, alg: 'ES256', d: 'AAAA' } } }, {}, 'bad_jwk'],
  ])('WI03 %s is refused', async (_name, claims, header, expected) => {
    expect(await reason(tokenWith(claims, header))).toBe(expected)
  })

  it('WI03 by a stranger is refused, and so is one for which the bundle has no key', async () => {
    expect(await reason(tokenWith({}, {}, thief.privateKey))).toBe('bad_token')
    for (const use of ['sig', 'jwt-svid', 'x509-svid', undefined]) {
      verifier = make({ trustDomains: [{ trustDomain: 'bank.example', jwks: bundleOf({ use }) }] })
      expect(await reason(tokenWith())).toBe('unknown_kid')
    }
  })
})

describe('the proof', () => {
  it.each<[string, Json, Json, string]>([
    ['of another type', {}, { typ: 'dpop+jwt' }, 'wrong_type'],
    ['by another algorithm than that of the key', {}, { alg: 'ES384' }, 'bad_alg'],
    ['without a signature', {}, { alg: 'none' }, 'bad_alg'],
    ['for another path', { aud: `${origin}/entries/1` }, {}, 'audience_mismatch'],
    ['for another host', { aud: 'https://other.example/entries' }, {}, 'audience_mismatch'],
    ['for a list', { aud: [`${origin}/entries`] }, {}, 'audience_mismatch'],
    ['for nobody', { aud: undefined }, {}, 'audience_mismatch'],
    ['of the past', { exp: 1 }, {}, 'signature_expired'],
    ['for ever', { exp: undefined }, {}, 'malformed'],
    ['for a day', { exp: 4_000_000_000 }, {}, 'lifetime_too_long'],
    ['without an id', { jti: undefined }, {}, 'malformed'],
    ['with a long id', { jti: 'x'.repeat(257) }, {}, 'malformed'],
    ['for another token', { wth: sha256('another') }, {}, 'token_mismatch'],
    ['for no token', { wth: undefined }, {}, 'token_mismatch'],
    ['for a transaction that is not there', { tth: sha256('x') }, {}, 'token_mismatch'],
    ['for tokens of which nobody here knows', { oth: { cookie: sha256('x') } }, {}, 'token_mismatch'],
  ])('WI04 %s is refused', async (_name, claims, header, expected) => {
    const token = tokenWith()
    expect(await reason(token, proofWith(token, claims, header))).toBe(expected)
  })

  it('WI05 by another key is refused, also by one that a token of its own names', async () => {
    const token = tokenWith()
    expect(await reason(token, proofWith(token, {}, { jwk: thief.jwk }, thief.privateKey))).toBe('bad_signature')
    const other = tokenWith({ cnf: { jwk: { ...thief.jwk, alg: 'ES256' } } })
    expect(await reason(other, proofWith(other))).toBe('bad_signature')
    expect(await reason(other, proofWith(token, {}, {}, thief.privateKey))).toBe('token_mismatch')
  })

  it('WI06 is good once for each key, until the end of its time', async () => {
    const token = tokenWith()
    const proof = proofWith(token, { jti: 'same' })
    const twice = await Promise.all([reason(token, proof), reason(token, proof)])
    expect(twice.sort()).toEqual(['accepted', 'replay_detected'])
    now += 85_000
    expect(await reason(token, proof)).toBe('replay_detected')
    now += 6000
    expect(await reason(token, proof)).toBe('signature_expired')
    const other = tokenWith({ cnf: { jwk: { ...thief.jwk, alg: 'ES256' } } })
    expect(await reason(other, proofWith(other, { jti: 'same' }, {}, thief.privateKey))).toBe('accepted')
  })

  it('WI07 has to cover a transaction token', async () => {
    const token = tokenWith()
    const check = (proof: string) => reasonOf(verifier.check(requestOf(token, proof, { 'txn-token': 'a.b.c' })))
    expect(await check(proofWith(token))).toBe('token_mismatch')
    expect(await check(proofWith(token, { tth: sha256('a.b.d') }))).toBe('token_mismatch')
    expect(await check(proofWith(token, { tth: sha256('a.b.c') }))).toBe('accepted')
  })

  it('WI08 is needed: a token alone, or as a bearer token, proves nothing', async () => {
    const token = tokenWith()
    const proof = proofWith(token)
    const check = (headers: Record<string, string>) =>
      reasonOf(verifier.check(new Request(`${origin}/entries`, { headers })))
    expect(await check({ 'workload-identity-token': token })).toBe('missing_credential')
    expect(await check({ authorization: `WPT ${proof}` })).toBe('missing_credential')
    expect(await check({ authorization: `Bearer ${token}` })).toBe('missing_credential')
    expect(await check({ 'workload-identity-token': token, authorization: `Bearer ${proof}` })).toBe(
      'missing_credential',
    )
    expect(await check({ 'workload-identity-token': token, authorization: `WPT ${proof}, WPT ${proof}` })).toBe(
      'missing_credential',
    )
    expect(await check({ 'workload-identity-token': token, authorization: `WPT ${'x'.repeat(9000)}` })).toBe(
      'header_too_large',
    )
    expect(await check({ 'workload-identity-token': 'x.y.z', authorization: `WPT ${proof}` })).toBe('malformed')
  })
})

it('WI09 the host is that of the options, a header twice is refused, and the answer says what to send', async () => {
  const real = make({ origin: 'https://ledger.example' })
  const server = createServer(forHttp(real, (_request, response, found) => void response.end(found.workload)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/entries`
    const token = tokenWith()
    const send = (proof: string, headers: [string, string][] = []) =>
      fetch(url, { headers: [['Workload-Identity-Token', token], ['Authorization', `WPT ${proof}`], ...headers] })
    const passed = await send(proofWith(token))
    expect(await passed.text()).toBe('spiffe://bank.example/payments/api-1')
    const elsewhere = await send(proofWith(token, { aud: url }))
    expect(elsewhere.status).toBe(401)
    expect(elsewhere.headers.get('www-authenticate')).toBe('WPT')
    expect(await elsewhere.json()).toMatchObject({ error: 'invalid_proof', error_code: 'audience_mismatch' })
    const authorization = `WPT ${proofWith(token)}`
    for (const headers of [
      { 'Workload-Identity-Token': [token, token], Authorization: authorization },
      { 'Workload-Identity-Token': token, Authorization: [authorization, authorization] },
    ]) {
      const [doubled] = (await once(get(url, { headers }), 'response')) as [IncomingMessage]
      doubled.resume()
      expect(doubled.statusCode).toBe(400)
    }
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

it('token, proof and scheme may be spelled in another case', async () => {
  for (const typ of spellingsOf('wit+jwt')) {
    const token = tokenWith({}, { typ })
    expect(await reasonOf(verifier.check(requestOf(token, proofWith(token))))).toBe('accepted')
  }
  for (const typ of spellingsOf('wpt+jwt')) {
    const token = tokenWith()
    const proof = proofWith(token, {}, { typ })
    const request = requestOf(token, proof, { authorization: `wPt ${proof}` })
    expect(await reasonOf(verifier.check(request))).toBe('accepted')
  }
})

it('WI10 an outage is no refusal', async () => {
  const down = make({
    trustDomains: [{ trustDomain: 'bank.example', jwks_uri: 'https://id.example/trust-bundle.json' }],
    fetch: () => Promise.reject(new TypeError('down')),
  })
  const token = tokenWith()
  const answerOf = async (checker: WorkloadVerifier) => {
    const error: unknown = await checker.check(requestOf(token, proofWith(token))).catch((caught: unknown) => caught)
    return (
      error instanceof VerificationError && [error.reason, error.answer.status, error.answer.headers['retry-after']]
    )
  }
  expect(await answerOf(down)).toEqual(['keys_unavailable', 503, '5'])
  const forgetful = make({ replay: { claim: () => Promise.reject(new Error('down')) } })
  expect(await answerOf(forgetful)).toEqual(['replay_guard_unavailable', 503, '5'])
})

it('refuses options that make no sense', () => {
  expect(() => make({ trustDomains: [] })).toThrow(TypeError)
  expect(() => make({ origin: 'https://ledger.example/' })).toThrow(TypeError)
  expect(() => make({ clockSkewSeconds: 301 })).toThrow(TypeError)
  expect(() => make({ trustDomains: [{ trustDomain: 'a', jwks_uri: 'http://id.example/' }] })).toThrow(TypeError)
})
