import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  createResourceServer,
  memoryReplayGuard,
  VerificationError,
  type ReplayGuard,
} from '../../libraries/verify/index.js'
import { createTokens } from '../support/verify/access-tokens.js'
import { startIssuerSite } from '../support/verify/issuer-site.js'
import { reasonOf } from '../support/verify/reason-of.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

const audience = 'https://api.example'
let now = Date.UTC(2026, 0, 1)
const clock = () => now

let site: Awaited<ReturnType<typeof startIssuerSite>>
let tokens: ReturnType<typeof createTokens>
beforeEach(async () => {
  now = Date.UTC(2026, 0, 1)
  site = await startIssuerSite(clock)
  tokens = createTokens(site, audience, audience, clock)
})
afterEach(() => site.close())

const make = (options: object = {}) =>
  createResourceServer({ issuers: [site.url], audience, clock, ...options }).requireAccessToken()
const bearer = () => tokens.request({ authorization: `Bearer ${tokens.token()}` })
const dpop = () => {
  const text = tokens.bound()
  return tokens.request({ authorization: `DPoP ${text}`, dpop: tokens.proof(text) })
}
const refusal = async (checked: Promise<unknown>) => {
  const error = await checked.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(VerificationError)
  return error as VerificationError
}
/** An outage is no verdict about the token. */
const expectOutage = ({ reason, answer }: VerificationError, expected: string) => {
  expect({ reason, status: answer.status }).toEqual({ reason: expected, status: 503 })
  expect(answer.headers).toEqual({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'retry-after': '5',
  })
  expect(JSON.parse(answer.body)).toMatchObject({ error: 'temporarily_unavailable', error_code: expected })
}

describe('VR45: an outage is 503 and never 401', () => {
  it('of the keys, when they were never fetched, when the stale time is over, and for a kid that may be new', async () => {
    const api = make()
    site.instead.set('/jwks.json', 500)
    expectOutage(await refusal(api.check(bearer())), 'keys_unavailable')
    site.instead.clear()
    now += 5000
    expect(await reasonOf(api.check(bearer()))).toBe('accepted')
    site.instead.set('/jwks.json', 500)
    now += 240 * 60_000
    expect(await reasonOf(api.check(bearer()))).toBe('accepted')
    const unknown = tokens.request({ authorization: `Bearer ${tokens.token({}, { kid: 'new' })}` })
    expectOutage(await refusal(api.check(unknown)), 'keys_unavailable')
    now += 10 * 60_000
    expectOutage(await refusal(api.check(bearer())), 'keys_unavailable')
  })

  it('of the replay guard; and what it answers wrongly is refused', async () => {
    const guarded = (replay: ReplayGuard) => make({ replay })
    const down = guarded({ claim: () => Promise.reject(new Error('down')) })
    expectOutage(await refusal(down.check(dpop())), 'replay_guard_unavailable')
    const full = guarded(memoryReplayGuard({ clock, most: 0 }))
    expectOutage(await refusal(full.check(dpop())), 'replay_guard_full')
    const odd = guarded({ claim: () => 'OK' as never })
    expect(await reasonOf(odd.check(dpop()))).toBe('replay_detected')
  })

  it('of introspection, which burns no proof; VR46: and a token that is not active is refused', async () => {
    const introspection = { endpoint: `${site.url}/introspect`, clientId: 'a b', clientSecret: 'c:ü' }
    const api = make({ introspection })
    const sent = dpop()
    for (const wrong of [
      500,
      401,
      'no JSON',
      '{}',
      '[]',
      '{"active":"true"}',
      `{"active":true,"x":"${'x'.repeat(70_000)}"}`,
    ]) {
      site.instead.set('/introspect', wrong)
      expectOutage(await refusal(api.check(sent)), 'introspection_unavailable')
    }
    site.instead.set('/introspect', '{"active":false}')
    expect(await refusal(api.check(sent))).toMatchObject({ reason: 'token_revoked', answer: { status: 401 } })
    site.instead.set('/introspect', '{"active":true}')
    expect(await reasonOf(api.check(sent))).toBe('accepted')
  })

  it('of signed introspection (RFC 9701): of the issuer, for this API, made just now', async () => {
    const api = make({
      introspection: { endpoint: `${site.url}/introspect`, clientId: 'api', clientSecret: 'secret' },
    })
    const iat = Math.floor(now / 1000)
    const answer = (claims: object = {}, header: object = {}) =>
      site.sign(
        { typ: 'token-introspection+jwt', ...header },
        { iss: site.issuer, aud: 'api', iat, token_introspection: { active: true }, ...claims },
      )
    const sent = bearer()
    const [head = '', body = ''] = answer().split('.')
    for (const wrong of [
      ...[answer({ iss: 'https://other.example' }), answer({ aud: 'other' }), answer({ aud: [] })],
      ...[answer({ iat: iat - 91 }), answer({ iat: iat + 31 }), answer({ iat: undefined }), answer({ iat: 'now' })],
      ...[answer({ token_introspection: undefined }), answer({ token_introspection: [true], active: true })],
      ...[answer({}, { typ: 'JWT' }), answer({}, { typ: 'at+jwt' }), answer({}, { typ: undefined })],
      ...[answer({}, { kid: 'other' }), answer({}, { alg: 'none' }), `${head}.${body}.AAAA`],
    ]) {
      site.instead.set('/introspect', wrong)
      expectOutage(await refusal(api.check(sent)), 'introspection_unavailable')
    }
    for (const typ of ['token-introspection+jwt', ...spellingsOf('token-introspection+jwt')]) {
      site.instead.set('/introspect', answer({ aud: ['api', 'x'], token_introspection: { active: false } }, { typ }))
      expect(await refusal(api.check(sent))).toMatchObject({ reason: 'token_revoked', answer: { status: 401 } })
      site.instead.set('/introspect', answer({}, { typ }))
      expect(await reasonOf(api.check(sent))).toBe('accepted')
    }
  })

  it('VR25: a token that was accepted before is refused after its key was withdrawn', async () => {
    const api = make()
    const sent = bearer()
    expect(await reasonOf(api.check(sent))).toBe('accepted')
    now += 60_000
    site.rotate('two')
    expect(await reasonOf(api.check(bearer()))).toBe('accepted')
    expect(await reasonOf(api.check(sent))).toBe('unknown_kid')
  })
})
