import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { assertionType, signAssertion } from '../support/clients/client-assertion.js'
import { serviceClient } from '../support/server/server.js'
import {
  es256,
  header,
  rs256,
  second,
  startAssertionServer,
  stranger,
  type AssertionServer,
} from '../support/server/assertion-server.js'
import { basic } from '../support/clients/clients.js'
import { expectRefusal } from '../support/server/token-server.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

let { host, issuer, claims, send, sent, seconds, expectGood, expectRefused } = {} as AssertionServer
beforeAll(async () => {
  ;({ host, issuer, claims, send, sent, seconds, expectGood, expectRefused } = await startAssertionServer())
})
afterAll(() => host[Symbol.asyncDispose]())
afterEach(() => expectGood())

describe('client assertions', () => {
  it.each<[string, () => Record<string, unknown>]>([
    ['expired an hour ago', () => ({ exp: seconds() - 3600 })],
    ['expired just past the tolerance', () => ({ exp: seconds() - 10 })],
    ['exp 0', () => ({ exp: 0 })],
    ['no exp', () => ({ exp: undefined })],
    ['exp far ahead', () => ({ exp: seconds() + 3620 })],
    ['exp a fraction too far ahead', () => ({ exp: seconds() + 3620.5 })],
    ['exp a fraction past the tolerance', () => ({ exp: seconds() - 10.5 })],
    ['exp in milliseconds', () => ({ exp: host.now() })],
    ['another iss', () => ({ iss: 'other-signer' })],
    ['another sub', () => ({ sub: 'other-signer' })],
    ['iss of the server', () => ({ iss: issuer })],
    ['no iss', () => ({ iss: undefined })],
    ['no sub', () => ({ sub: undefined })],
    ['an unknown client', () => ({ iss: 'nobody', sub: 'nobody' })],
    ['a client with a secret', () => ({ iss: 'service', sub: 'service' })],
    ['a public client', () => ({ iss: 'app', sub: 'app' })],
    ['sub in other letters', () => ({ iss: 'SIGNER', sub: 'SIGNER' })],
  ])('CA06 %s', async (_, overrides) => {
    await expectRefused(signAssertion(es256, header, claims(overrides())))
  })

  it('CA06 client_id is another client', async () => {
    for (const client_id of ['other-signer', 'service', 'nobody', 'SIGNER'])
      await expectRefused(signAssertion(es256, header, claims()), { client_id })
    expect((await send(signAssertion(es256, header, claims()), { client_id: 'signer' })).status).toBe(200)
  })

  it.each<[string, () => unknown]>([
    ['none', () => undefined],
    ['another server', () => 'https://other.example'],
    ['the issuer with a slash', () => `${issuer}/`],
    ['another endpoint', () => `${issuer}/introspect`],
    ['two, one of them right', () => [issuer, 'https://other.example']],
    ['three, one of them wrong', () => [issuer, `${issuer}/token`, `${issuer}/introspect`]],
    ['an empty list', () => []],
    ['a list in a list', () => [[issuer]]],
    ['an object', () => ({ 0: issuer, length: 1 })],
    ['null', () => null],
    ['the issuer in other letters', () => issuer.toUpperCase()],
    ['the client', () => 'signer'],
  ])('CA07 aud: %s', async (_, aud) => {
    await expectRefused(signAssertion(es256, header, claims({ aud: aud() })))
  })

  it('CA07 aud: the issuer, the token endpoint, or a list of nothing else', async () => {
    const right = [issuer, `${issuer}/token`]
    for (const aud of [...right, ...right.map((one) => [one]), right, right.toReversed()]) await expectGood({ aud })
  })

  it('may spell its type in any case, or omit it', async () => {
    for (const typ of [undefined, 'JWT', ...['JWT', 'client-authentication+jwt'].flatMap(spellingsOf)])
      expect((await send(signAssertion(es256, { ...header, typ }, claims()))).status, typ).toBe(200)
    for (const typ of ['at+jwt', 'AT+JWT', 'application/at+jwt', 'text/jwt', '', null, 1, ['JWT']])
      await expectRefused(signAssertion(es256, { ...header, typ }, claims()))
  })

  it('CA08 an assertion twice, whatever else the request contains', async () => {
    const assertion = signAssertion(es256, header, claims())
    expect((await send(assertion)).status).toBe(200)
    await expectRefused(assertion)
    await expectRefused(assertion, { client_id: 'signer', scope: 'read' })
    // The id counts, not the text.
    const jti = randomUUID()
    await expectGood({ jti })
    await expectRefused(signAssertion(es256, header, claims({ jti, exp: seconds() + 200 })))
    await expectRefused(signAssertion(second, { alg: 'ES256', kid: 'two' }, claims({ jti })))
  })

  it('CA08 until the end of its acceptance', async () => {
    const assertion = signAssertion(es256, header, claims({ exp: seconds() + 3600.5 }))
    expect((await send(assertion)).status).toBe(200)
    for (const later of [299_000, 3_300_000, 9_000, 1_000, 1_000, 1_000]) {
      host.later(later)
      await expectRefused(assertion)
    }
  })

  it('CA08 a wrong signature does not consume the jti', async () => {
    const right = claims()
    await expectRefused(signAssertion(stranger, header, right))
    expect((await send(signAssertion(es256, header, right))).status).toBe(200)
  })

  it.each<[string, unknown]>([
    ['none', undefined],
    ['empty', ''],
    ['257 characters', 'x'.repeat(257)],
    ['a number', 7],
    ['a list', ['x']],
    ['an object', { toString: 'x' }],
  ])('CA08 jti: %s', async (_, jti) => {
    await expectRefused(signAssertion(es256, header, claims({ jti })))
  })

  it('CA10 ids of two clients never collide', async () => {
    const jti = `${randomUUID()}signer`
    for (const [clientId, id] of [
      ['signer', jti],
      ['other-signer', jti],
      ['signer', `other-${jti}`],
    ] as const)
      expect((await send(signAssertion(es256, header, claims({ jti: id }, clientId)))).status).toBe(200)
  })

  it.each<[string, () => string]>([
    ['none, unsigned', () => `${signAssertion(es256, { alg: 'none' }, claims()).split('.').slice(0, 2).join('.')}.`],
    ['none, signed', () => signAssertion(es256, { alg: 'none', kid: 'one' }, claims())],
    ['NONE', () => signAssertion(es256, { alg: 'NONE', kid: 'one' }, claims())],
    ['HS256 with the public key', () => hmac(JSON.stringify(es256.publicJwk))],
    ['HS256 with x', () => hmac(String(es256.publicJwk['x']))],
    ['HS256 with nothing', () => hmac('')],
    ['ES384', () => signAssertion(es256, { alg: 'ES384', kid: 'one' }, claims())],
    ['RS256 with the kid of an EC key', () => signAssertion(rs256, { alg: 'RS256', kid: 'one' }, claims())],
    ['es256', () => signAssertion(es256, { alg: 'es256', kid: 'one' }, claims())],
    ['no alg', () => signAssertion(es256, { kid: 'one' }, claims())],
    ['a list', () => signAssertion(es256, { alg: ['ES256'], kid: 'one' }, claims())],
    ['__proto__', () => signAssertion(es256, '{"alg":"__proto__","kid":"one"}', claims())],
    ['constructor', () => signAssertion(es256, { alg: 'constructor', kid: 'one' }, claims())],
    ['not the registered one', () => signAssertion(rs256, { alg: 'RS256', kid: 'rsa' }, claims({}, 'only-es256'))],
    ['not that of the key', () => signAssertion(rs256, { alg: 'RS256', kid: 'rsa' }, claims({}, 'narrow'))],
    ['a zero signature', () => `${signAssertion(es256, header, claims()).replace(/[^.]+$/, 'A'.repeat(86))}`],
  ])('CA11 alg: %s', async (_, assertion) => {
    await expectRefused(assertion())
  })

  const hmac = (secret: string): string => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const input = `${encode({ alg: 'HS256', kid: 'one' })}.${encode(claims())}`
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }

  it.each<[string, unknown]>([
    ['unknown', 'three'],
    ['a path', '../../../../etc/passwd'],
    ['SQL', "' OR 1=1 --"],
    ['an object', { $ne: null }],
    ['a list', ['one']],
    ['a number', 0],
    ['null', null],
    ['empty', ''],
    ['10 KB', 'x'.repeat(10_000)],
    ['4 KB', 'x'.repeat(4_000)],
    ['__proto__', '__proto__'],
    ['NUL', 'one\0'],
    ['a key of the server', 'es256'],
  ])('CA12 kid: %s', async (_, kid) => {
    await expectRefused(signAssertion(es256, { alg: 'ES256', kid }, claims()))
  })

  it('CA12 without a kid only the matching keys of the client are tried', async () => {
    for (const key of [es256, second])
      expect((await send(signAssertion(key, { alg: 'ES256' }, claims()))).status).toBe(200)
    await expectRefused(signAssertion(stranger, { alg: 'ES256' }, claims()))
    expect((await send(signAssertion(es256, { alg: 'ES256' }, claims({}, 'nameless')))).status).toBe(200)
    await expectRefused(signAssertion(es256, header, claims({}, 'nameless')))
  })

  it('CA13 keys inside an assertion are ignored', async () => {
    let asked = 0
    const trap = createServer((_request, response) => {
      asked++
      response.end(JSON.stringify({ keys: [stranger.publicJwk] }))
    })
    trap.listen(0, '127.0.0.1')
    await once(trap, 'listening')
    const { port } = trap.address() as { port: number }
    const url = `http://127.0.0.1:${port}/jwks`
    for (const brought of [
      { jwk: stranger.publicJwk },
      { jku: url },
      { x5u: url },
      { x5c: ['MIIB'] },
      { jku: url, jwk: stranger.publicJwk, x5u: url },
    ]) {
      await expectRefused(signAssertion(stranger, { ...header, ...brought }, claims()))
      await expectRefused(signAssertion(stranger, { alg: 'ES256', ...brought }, claims()))
      expect((await send(signAssertion(es256, { ...header, ...brought }, claims()))).status).toBe(200)
    }
    expect(asked).toBe(0)
    trap.close()
  })

  it.each<[string, Record<string, unknown>]>([
    ['unknown', { crit: ['https://example.com/x'], 'https://example.com/x': true }],
    ['b64', { crit: ['b64'], b64: false }],
    ['exp', { crit: ['exp'], exp: 1 }],
    ['empty', { crit: [] }],
    ['text', { crit: 'alg' }],
    ['null', { crit: null }],
  ])('CA14 crit: %s', async (_, members) => {
    await expectRefused(signAssertion(es256, { ...header, ...members }, claims()))
  })

  it('CA06 exp further ahead than the configuration allows', async () => {
    const strict = await startAssertionServer({ client_assertion_max_age_secs: 60 })
    await using server = strict.host
    const inSeconds = (count: number) => ({ exp: Math.floor(server.now() / 1000) + count })
    await strict.expectGood(inSeconds(60))
    await strict.expectRefused(signAssertion(es256, header, strict.claims(inSeconds(80))))
  })

  it('CA15 a clock that is 8 to 10 s ahead', async () => {
    for (const ahead of [8, 9, 10]) {
      await expectGood({ iat: seconds() + ahead, nbf: seconds() + ahead })
      await expectGood({ iat: seconds() + ahead, exp: seconds() + ahead + 3600 })
    }
    await expectGood({ iat: undefined })
  })

  it('CA25 times with a fraction, as some libraries write them', async () => {
    const now = host.now() / 1000
    await expectGood({ iat: now - 0.25, nbf: now - 0.75, exp: now + 599.123456 })
    await expectRefused(signAssertion(es256, header, claims({ iat: now + 15.5 })))
    await expectRefused(signAssertion(es256, header, claims({ exp: `${String(now)}.5` })))
  })

  it.each<[string, () => Record<string, unknown>]>([
    ['iat 60 s ahead', () => ({ iat: seconds() + 60 })],
    ['nbf 60 s ahead', () => ({ nbf: seconds() + 60 })],
    ['iat 15 s ahead', () => ({ iat: seconds() + 15 })],
    ['iat a day ahead', () => ({ iat: seconds() + 86_400, exp: seconds() + 86_460 })],
    ['iat text', () => ({ iat: String(seconds()) })],
    ['nbf null', () => ({ nbf: null })],
  ])('CA15 %s', async (_, overrides) => {
    await expectRefused(signAssertion(es256, header, claims(overrides())))
  })

  it('CA02 CA03 beside another method, with another type, for a client of another method', async () => {
    const assertion = () => signAssertion(es256, header, claims())
    for (const answer of [
      await host.token(
        { grant_type: 'client_credentials', client_assertion_type: assertionType, client_assertion: assertion() },
        { authorization: basic(serviceClient) },
      ),
      await send(assertion(), { client_secret: 'x' }),
    ])
      expectRefusal(answer, 400, 'invalid_request')
    for (const client_assertion_type of ['x', undefined, 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer'])
      await expectRefused(assertion(), { client_assertion_type })
    expectRefusal(
      await host.token({ grant_type: 'client_credentials', client_assertion_type: assertionType }),
      400,
      'invalid_request',
    )
    expectRefusal(await host.token({ grant_type: 'client_credentials', client_id: 'signer' }), 401, 'invalid_client')
  })

  it('a refusal is in the audit log with its reason, and no assertion is logged', async () => {
    const log = await host.server.audit()
    const reasons = new Set(log.map(({ reason }) => reason))
    for (const reason of [
      'used before',
      'wrong signature',
      'no key of the client fits',
      'aud is not this server alone',
    ])
      expect(reasons).toContain(`client assertion: ${reason}`)
    const text = JSON.stringify(log)
    // Less than that is in random text, too.
    const pieces = sent.flatMap((assertion) => assertion.split('.')).filter(({ length }) => length >= 8)
    expect(pieces.length).toBeGreaterThan(100)
    expect(pieces.filter((piece) => text.includes(piece.slice(0, 20)))).toEqual([])
  })
})
