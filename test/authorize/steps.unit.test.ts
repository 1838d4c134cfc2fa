import { describe, expect, it } from 'vitest'
import { createCookies } from '../../core/interaction/cookies.js'
import { csrfToken, isCsrfToken } from '../../core/interaction/csrf.js'
import { personalClaims, parseClaimsParameter } from '../../core/oauth/requests/claims-parameter.js'
import { OAuthError } from '../../core/oauth/errors.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../../core/opaque-token.js'
import { isLocalRedirectUri } from '../../core/oauth/requests/redirect-uri.js'

describe('cookies', () => {
  it('are bound to the host where possible', () => {
    const { session, browser, set } = createCookies('https://id.example')
    expect(set(session, 'v', 60)).toBe('__Host-signet-session=v; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=60')
    expect(set(browser, 'v')).toBe('__Host-signet-browser=v; Path=/; HttpOnly; SameSite=Lax; Secure')
  })

  it('are bound to the path of an issuer that has one', () => {
    const { session, set } = createCookies('https://bank.example/op')
    expect(set(session, 'v')).toBe('signet-session=v; Path=/op; HttpOnly; SameSite=Lax; Secure')
  })

  it('work over http on loopback', () => {
    const { session, set } = createCookies('http://localhost:3000')
    expect(set(session, 'v')).toBe('signet-session=v; Path=/; HttpOnly; SameSite=Lax')
  })
})

describe('csrf token', () => {
  it('is valid for one browser, one interaction, one page', () => {
    const token = csrfToken('browser', 'id', 'login')
    expect(isCsrfToken(csrfToken('browser', 'id', 'login'), token)).toBe(true)
    for (const other of [
      csrfToken('b', 'id', 'login'),
      csrfToken('browser', 'i', 'login'),
      csrfToken('browser', 'id', 'l'),
    ])
      expect(isCsrfToken(other, token)).toBe(false)
    expect(isCsrfToken(token, undefined)).toBe(false)
    expect(isCsrfToken(token, `${token}x`)).toBe(false)
  })
})

describe('opaque tokens', () => {
  it('have 256 bits, are all different, and hash to a valid store key', () => {
    const tokens = Array.from({ length: 10_000 }, newOpaqueToken)
    expect(new Set(tokens).size).toBe(tokens.length)
    expect(tokens.every(isOpaqueToken)).toBe(true)
    expect(tokens.every((token) => Buffer.from(token, 'base64url').length === 32)).toBe(true)
    expect(hashOpaqueToken('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
  })
})

describe('redirect URIs of this machine', () => {
  it('are recognised by address and by name', () => {
    for (const uri of [
      'http://127.0.0.1/cb',
      'http://127.0.0.1:1/cb',
      'http://[::1]:1/',
      'http://localhost',
      'http://LOCALHOST:3/',
    ])
      expect(isLocalRedirectUri(uri)).toBe(true)
    for (const uri of ['https://client.example/', 'http://localhost.example/', 'http://127.0.0.1.example/'])
      expect(isLocalRedirectUri(uri)).toBe(false)
  })
})

describe('the claims parameter', () => {
  it('keeps what it understands', () => {
    const requested = parseClaimsParameter(
      '{"id_token":{"auth_time":{"essential":true},"acr":{"values":["a","b"],"x":{"y":[]}},"constructor":null},"userinfo":{"name":null,"email":{"value":"e","essential":false}},"x":[]}',
    )
    expect(requested).toEqual({
      id_token: { auth_time: { essential: true }, acr: { values: ['a', 'b'] } },
      userinfo: { name: null, email: { value: 'e', essential: false } },
    })
    expect(personalClaims(requested)).toEqual(['name', 'email'])
  })

  it('refuses malformed values with invalid_request', () => {
    for (const text of [
      '',
      '1',
      '[',
      '{"id_token":1}',
      '{"userinfo":{"a":1}}',
      '{"userinfo":{"a":[]}}',
      JSON.stringify({ userinfo: { ['n'.repeat(2100)]: null } }),
    ])
      expect(() => parseClaimsParameter(text)).toThrow(OAuthError)
  })

  it('AN04 accepts 4 KiB, measured in bytes', () => {
    const sized = (text: string) => `${' '.repeat(4096 - Buffer.byteLength(text))}${text}`
    const wide = JSON.stringify({ id_token: { acr: { value: '漢'.repeat(1000) } } })
    expect(parseClaimsParameter(sized('{}'))).toEqual({})
    expect(parseClaimsParameter(sized(wide))).toHaveProperty('id_token.acr')
    for (const text of [sized('{}'), sized(wide)]) expect(() => parseClaimsParameter(` ${text}`)).toThrow(OAuthError)
  })
})
