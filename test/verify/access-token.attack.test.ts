import { createHmac } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Requirements } from '../../libraries/verify/index.js'
import { createTokens } from '../support/verify/access-tokens.js'
import { createApiUnderAttack } from '../support/verify/api-under-attack.js'
import { createTestIssuer } from '../support/verify/attested-device.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

const { audience, origin, clock, issuer, tokens, make, answer, ...time } = createApiUnderAttack()
const { prover, token, bound, proof, request } = tokens
beforeEach(time.reset)
const seconds = () => Math.floor(clock() / 1000)

const bearer = (text: string, needed?: Requirements) => answer(request({ authorization: `Bearer ${text}` }), { needed })
const dpop = (text: string, sent: string | undefined) => answer(request({ authorization: `DPoP ${text}`, dpop: sent }))

describe('the access token', () => {
  it('is accepted with any of its types, and one of several audiences', async () => {
    expect(await bearer(token())).toEqual({ reason: 'accepted' })
    expect(await bearer(token({ aud: ['https://other.example', audience] }))).toEqual({ reason: 'accepted' })
    for (const typ of spellingsOf('at+jwt')) expect(await bearer(token({}, { typ }))).toEqual({ reason: 'accepted' })
  })

  it('is accepted with its scheme in any letters, as the proof with its type', async () => {
    for (const scheme of ['bearer', 'BEARER', 'bEaReR'])
      expect(await answer(request({ authorization: `${scheme} ${token()}` }))).toEqual({ reason: 'accepted' })
    for (const [at, typ] of spellingsOf('dpop+jwt').entries()) {
      const text = bound()
      const authorization = `${['dpop', 'DPOP', 'DPoP', 'Dpop'][at]} ${text}`
      expect(await answer(request({ authorization, dpop: proof(text, { header: { typ } }) }))).toEqual({
        reason: 'accepted',
      })
    }
  })

  it('VR33: is no other token of the issuer', async () => {
    for (const typ of [undefined, 'JWT', 'logout+jwt', 'device-attestation+jwt', 'text/at+jwt', 'statuslist+jwt'])
      expect(await bearer(token({}, { typ }))).toMatchObject({ reason: 'wrong_type', status: 401 })
  })

  it('VR34: is for this audience, by a trusted issuer and its key, with the algorithm of the key', async () => {
    for (const aud of [
      undefined,
      'https://api.example',
      `${audience}/`,
      [],
      ['https://other.example'],
      { 0: audience },
    ])
      expect((await bearer(token({ aud }))).reason).toBe('audience_mismatch')
    expect((await bearer(token({ iss: 'https://issuer.example/' }))).reason).toBe('untrusted_issuer')
    expect((await bearer(token({}, { kid: 'two' }))).reason).toBe('unknown_kid')
    const stranger = createTestIssuer(issuer.issuer, clock)
    expect((await bearer(createTokens(stranger, audience, origin, clock).token())).reason).toBe('bad_signature')
    for (const alg of ['none', 'HS256', 'RS256', undefined]) {
      const [, payload = ''] = token().split('.')
      const header = Buffer.from(JSON.stringify({ typ: 'at+jwt', kid: 'one', alg })).toString('base64url')
      const signature = createHmac('sha256', JSON.stringify(issuer.publicJwk())).update(`${header}.${payload}`)
      expect((await bearer(`${header}.${payload}.${signature.digest('base64url')}`)).reason).toBe('bad_alg')
    }
  })

  it('VR35: is good between its times, with the skew, and has all claims that RFC 9068 requires', async () => {
    const iat = seconds()
    expect((await bearer(token({ exp: iat - 30 }))).reason).toBe('accepted')
    expect((await bearer(token({ exp: iat - 31 }))).reason).toBe('token_expired')
    expect((await bearer(token({ nbf: iat + 31 }))).reason).toBe('token_expired')
    expect((await bearer(token({ iat: iat + 31 }))).reason).toBe('token_expired')
    const remembered = token()
    expect((await bearer(remembered)).reason).toBe('accepted')
    time.later(331)
    expect((await bearer(remembered)).reason).toBe('token_expired')
    for (const name of ['sub', 'client_id', 'jti', 'iat', 'exp'])
      expect([name, (await bearer(token({ [name]: undefined }))).reason]).toEqual([name, 'malformed'])
    for (const claims of [
      { exp: '9999999999' },
      { scope: ['read'] },
      { auth_time: 'now' },
      { authorization_details: {} },
    ])
      expect((await bearer(token(claims))).reason).toBe('malformed')
  })

  it('VR36: that is bound is no bearer token, and one that is not bound needs no proof to be refused as DPoP', async () => {
    const text = bound()
    expect(await bearer(text)).toMatchObject({ reason: 'wrong_scheme', status: 401 })
    expect((await answer(request({ authorization: `Bearer ${text}`, dpop: proof(text) }))).reason).toBe('wrong_scheme')
    const loose = token()
    expect((await dpop(loose, proof(loose))).reason).toBe('wrong_scheme')
    expect((await dpop(text, proof(text))).reason).toBe('accepted')
  })

  it('VR42: that is bound to something else is refused', async () => {
    for (const cnf of [
      {},
      [],
      'key',
      { kid: 'one' },
      { jkt: prover.jkt, jwk: prover.jwk },
      { jkt: 'short' },
      { jkt: [prover.jkt] },
      { 'x5t#S256': 7 },
    ]) {
      const text = token({ cnf })
      expect((await dpop(text, proof(text))).reason).toBe('unknown_confirmation')
    }
  })

  it('VR43: comes once, in the header alone', async () => {
    const text = token()
    const nothing = { reason: 'missing_token', status: 401 }
    expect(await answer(request({}, `/a?access_token=${text}`))).toMatchObject(nothing)
    const body = new URLSearchParams({ access_token: text })
    expect(await answer(request({}, '/a', { method: 'POST', body }))).toMatchObject(nothing)
    expect(await answer(request({ authorization: 'Basic YTpi' }))).toMatchObject(nothing)
    expect((await answer(request({}))).challenge).toMatch(/^Bearer, DPoP algs="ES256 /)
    for (const sent of [`${text} x`, '', `${text},`, `${text}, Bearer ${text}`, 'a b', 'é'])
      expect((await bearer(sent)).reason).toBe('malformed')
    expect((await bearer('x'.repeat(8192))).reason).toBe('header_too_large')
    for (const sent of ['x', 'x.y.z', `${text}.`, 'a'.repeat(5000)])
      expect((await bearer(sent)).reason).toBe('malformed')
  })
})

describe('what a request needs', () => {
  it('VR44: every scope, or 403 with the scope', async () => {
    expect((await bearer(token(), { scope: 'read write' })).reason).toBe('accepted')
    for (const scope of [undefined, '', 'read', 'reads write', 'READ WRITE'])
      expect(await bearer(token({ scope }), { scope: 'read write' })).toMatchObject({
        reason: 'insufficient_scope',
        status: 403,
        challenge: expect.stringMatching(/^Bearer error="insufficient_scope".* scope="read write"/) as string,
      })
  })

  it('VR44: a sign-in that is strong and recent enough, or 401 with what to ask for', async () => {
    const needed = { acrValues: ['high', 'higher'], maxAge: 300 }
    const good = { acr: 'higher', auth_time: seconds() - 300 }
    expect((await bearer(token(good), needed)).reason).toBe('accepted')
    for (const wrong of [
      { acr: undefined },
      { acr: 'low' },
      { acr: ['high'] },
      { auth_time: undefined },
      { auth_time: seconds() - 301 },
    ])
      expect(await bearer(token({ ...good, ...wrong }), needed)).toMatchObject({
        reason: 'insufficient_user_authentication',
        status: 401,
        challenge: expect.stringMatching(
          /^Bearer error="insufficient_user_authentication".* acr_values="high higher", max_age="300"/,
        ) as string,
      })
    expect((await bearer(token({ auth_time: seconds() - 1 }), { maxAge: 0 })).challenge).toMatch(/max_age="0"/)
  })

  it('is described in a challenge', () => {
    for (const wrong of [
      { scope: '' },
      { scope: 'a"b' },
      { scope: 'a\r\nb' },
      { acrValues: [] },
      { acrValues: ['"'] },
      { maxAge: -1 },
    ])
      expect(() => make().requireAccessToken(wrong)).toThrow(TypeError)
    expect(() => make({ audience: 'urn:api' })).toThrow(TypeError)
    expect(() => make({ origin: 'https://api.example/' })).toThrow(TypeError)
    expect(() => make({ introspection: { endpoint: 'http://a.example/', clientId: 'a', clientSecret: 'b' } })).toThrow(
      TypeError,
    )
  })

  it('VR47: a request that is refused does not use up its proof', async () => {
    const text = bound()
    const once = () => request({ authorization: `DPoP ${text}`, dpop: sent })
    const sent = proof(text)
    expect((await answer(once(), { needed: { scope: 'admin' } })).reason).toBe('insufficient_scope')
    expect((await answer(once())).reason).toBe('accepted')
  })
})
