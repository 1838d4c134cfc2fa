import { beforeEach, describe, expect, it } from 'vitest'
import { createVerifier, type Verifier } from '../../libraries/verify/index.js'
import { createTestDevice, createTestIssuer } from '../support/verify/attested-device.js'
import { reasonOf } from '../support/verify/reason-of.js'

const origin = 'https://api.example'
const now = Date.UTC(2026, 0, 1)
const clock = () => now
const issuer = createTestIssuer('https://issuer.example', clock)
const stranger = createTestIssuer('https://issuer.example', clock)
const device = createTestDevice(clock)
const thief = createTestDevice(clock)

const make = (): Verifier =>
  createVerifier({ issuers: [{ issuer: issuer.issuer, jwks: issuer.jwks() }], audience: origin, clock })

let verifier: Verifier
beforeEach(() => {
  verifier = make()
})

const request = (attestation: string, signature: string | undefined, target = '/a', init: RequestInit = {}): Request =>
  new Request(`${origin}${target}`, {
    ...init,
    headers: { 'x-attestation': attestation, ...(signature !== undefined && { 'x-signature': signature }) },
  })

/** Every check in its order, with what breaks it. */
const checks = [
  'missing_credential',
  'malformed',
  'untrusted_issuer',
  'unknown_kid',
  'bad_attestation',
  'wrong_type',
  'attestation_expired',
  'device_not_active',
  'key_not_bound',
  'bad_signature',
  'signature_expired',
  'lifetime_too_long',
  'method_mismatch',
  'path_mismatch',
  'audience_mismatch',
  'query_mismatch',
  'body_mismatch',
  'replay_detected',
] as const

const broken = (wrong: ReadonlySet<string>): Request => {
  const at = now / 1000
  const has = (reason: (typeof checks)[number]) => wrong.has(reason)
  const attest = (has('bad_attestation') ? stranger : issuer).attest
  const attestation = attest(
    device.jkt,
    {
      ...(has('untrusted_issuer') && { iss: 'https://elsewhere.example' }),
      ...(has('attestation_expired') && { exp: at - 60 }),
      ...(has('device_not_active') && { att: { status: 'suspended' } }),
    },
    { ...(has('unknown_kid') && { kid: 'unknown' }), ...(has('wrong_type') && { typ: 'JWT' }) },
  )
  const signature = device.signature({
    method: has('method_mismatch') ? 'PUT' : 'POST',
    target: `${has('path_mismatch') ? '/b' : '/a'}${has('query_mismatch') ? '?q=2' : '?q=1'}`,
    body: has('body_mismatch') ? 'other' : 'body',
    audience: has('audience_mismatch') ? 'https://other.example' : origin,
    claims: {
      jti: has('replay_detected') ? 'used' : crypto.randomUUID(),
      ...(has('signature_expired') && { iat: at - 200, exp: at - 100 }),
      ...(has('lifetime_too_long') && { exp: has('signature_expired') ? at - 200 : at + 1000 }),
    },
    header: has('key_not_bound') ? { jwk: thief.jwk } : {},
  })
  const [header = '', payload = '', bytes = ''] = signature.split('.')
  const changed = `${bytes.startsWith('A') ? 'B' : 'A'}${bytes.slice(1)}`
  const sent = has('bad_signature') ? `${header}.${payload}.${changed}` : signature
  return request(attestation, has('missing_credential') ? undefined : has('malformed') ? 'x.y' : sent, '/a?q=1', {
    method: 'POST',
    body: 'body',
  })
}

describe('the order of the checks (VR12)', () => {
  it.each(checks.map((reason, index) => [reason, checks.slice(index)] as const))(
    '%s comes before whatever else is wrong after it',
    async (reason, wrong) => {
      const used = device.signature({
        method: 'POST',
        target: '/a?q=1',
        body: 'body',
        audience: origin,
        claims: { jti: 'used' },
      })
      await verifier.check(request(issuer.attest(device.jkt), used, '/a?q=1', { method: 'POST', body: 'body' }))
      expect(await reasonOf(verifier.check(broken(new Set(wrong))))).toBe(reason)
      expect(await reasonOf(verifier.check(broken(new Set([reason]))))).toBe(reason)
    },
  )
})
