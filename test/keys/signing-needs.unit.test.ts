import { describe, expect, it } from 'vitest'
import type { Config } from '../../config/schema.js'
import { deploymentNeeds, describeGap, findGaps } from '../../core/keys/lifecycle/signing-needs.js'
import type { KeyState } from '../../core/keys/ports.js'

const config = (more: object = {}) =>
  ({
    scopes_supported: ['api'],
    access_token_signing_alg: 'ES256',
    id_token_signing_alg: 'RS256',
    clients: [{ client_id: 'app', id_token_signed_response_alg: 'PS256' }],
    ...more,
  }) as unknown as Config

const key = (state: KeyState, notBefore = -Infinity) =>
  ({ alg: 'ES256', purposes: ['access_token'], state, notBefore }) as const

const nobody = 'no key signs access_token with ES256'

describe('what a deployment needs signed', () => {
  it('follows from its sections, not from a single client', () => {
    const access = { purpose: 'access_token', alg: 'ES256' }
    expect(deploymentNeeds(config())).toEqual([access])
    const all = config({ scopes_supported: ['openid'], attestation: { signing_alg: 'ES384' } })
    const [idToken, attestation] = [
      { purpose: 'id_token', alg: 'RS256' },
      { purpose: 'attestation', alg: 'ES384' },
    ]
    expect(deploymentNeeds(all)).toEqual([access, idToken, attestation])
  })

  it.each([
    ['an active key', [key('next', 5), key('active')], []],
    [
      'keys that wait',
      [key('next', Date.UTC(2027)), key('next', Date.UTC(2026))],
      [`${nobody} until 2026-01-01T00:00:00Z`],
    ],
    ['a key that has ended', [key('retired')], [nobody]],
    ['no key', [], [nobody]],
    ['a key for something else', [{ ...key('active'), purposes: ['id_token'] as const }], [nobody]],
    ['a key of another algorithm', [{ ...key('active'), alg: 'ES384' as const }], [nobody]],
  ])('%s', (_, keys, gaps) => {
    expect(findGaps(deploymentNeeds(config()), keys).map(describeGap)).toEqual(gaps)
  })
})
