import { describe, expect, it } from 'vitest'
import type { Config } from '../../config/schema.js'
import { planKeys } from '../../core/keys/lifecycle/plan.js'
import type { KeyEntry } from '../../core/keys/lifecycle/inventory.js'
import { expandSlots } from '../../core/keys/slots/expand-slots.js'
import type { KeyPublication } from '../../core/keys/lifecycle/publications.js'

const now = Date.parse('2026-11-20T00:00:00Z')
const hour = 3_600_000
const at = (hours: number) => now + hours * hour

type Key = KeyEntry
const key = (kid: string, more: Partial<Key> = {}): Key => ({
  kid,
  alg: 'ES256',
  signer: 'local',
  ref: kid,
  purposes: ['access_token', 'id_token', 'userinfo'],
  allow_early: false,
  ...more,
})

const config = (keys: readonly Key[], more: Partial<Config> = {}) =>
  ({
    keys,
    scopes_supported: ['api'],
    access_token_signing_alg: 'ES256',
    id_token_signing_alg: 'ES256',
    access_token_ttl_secs: 600,
    id_token_ttl_secs: 3600,
    clock_tolerance_secs: 0,
    resources: [],
    clients: [],
    ...more,
  }) as unknown as Config

const known = (kid: string, from = 0): [string, KeyPublication] => [
  kid,
  { thumbprint: kid, first_published: from - hour, may_sign_from: from },
]

const plan = (
  keys: readonly Key[],
  publications: readonly (readonly [string, KeyPublication])[] = keys.map(({ kid }) => known(kid)),
  more: Partial<Config> = {},
) => {
  return planKeys(config(keys, more), expandSlots(keys, new Map()), new Map(publications), now)
}

const rotation = [key('b', { not_before: at(5) }), key('a', { not_after: at(10) })]

describe('the plan of keys', () => {
  it('shows each change with its time', () => {
    const { changes, warnings } = plan(rotation)
    expect(changes).toEqual([
      { at: at(5), kid: 'b', from: 'next', to: 'active' },
      { at: at(10), kid: 'a', from: 'active', to: 'retired' },
      { at: at(11), kid: 'a', from: 'retired', to: 'gone' },
    ])
    expect(warnings).toEqual([])
  })

  it('shows which key signs in each interval: the first listed active key', () => {
    expect(plan(rotation).signing).toEqual([
      { purpose: 'access_token', alg: 'ES256', from: now, until: at(5), kid: 'a' },
      { purpose: 'access_token', alg: 'ES256', from: at(5), until: Infinity, kid: 'b' },
    ])
  })

  it('shows how long each is published', () => {
    expect(plan(rotation).published).toEqual([
      { kid: 'b', state: 'next', until: Infinity },
      { kid: 'a', state: 'active', until: at(11) },
    ])
  })

  it('covers the algorithms of id_tokens and clients', () => {
    const algs = { id_token_signed_response_alg: 'RS256', userinfo_signed_response_alg: 'ES256' }
    const clients = [{ client_id: 'x', ...algs, introspection_signed_response_alg: 'EdDSA' }]
    const answers = key('e', { alg: 'EdDSA', purposes: ['introspection'] })
    const { signing } = plan([key('a'), key('r', { alg: 'RS256' }), answers], undefined, {
      clients: clients as unknown as Config['clients'],
      scopes_supported: ['openid'],
    })
    expect(signing.map(({ purpose, alg, kid }) => `${purpose} ${alg} ${kid ?? '-'}`)).toEqual([
      'access_token ES256 a',
      'id_token ES256 a',
      'id_token RS256 r',
      'userinfo ES256 a',
      'introspection EdDSA e',
    ])
  })

  it.each<[string, readonly Key[], readonly [string, KeyPublication][] | undefined, string]>([
    [
      'a gap between two keys',
      [key('b', { not_before: at(6) }), key('a', { not_after: at(5) })],
      undefined,
      'no key signs access_token with ES256 from 2026-11-20T05:00:00Z until 2026-11-20T06:00:00Z',
    ],
    [
      'an end without successor',
      [key('a', { not_after: at(5) })],
      undefined,
      'no key signs access_token with ES256 from 2026-11-20T05:00:00Z on',
    ],
    [
      'nobody today',
      [key('a', { not_before: at(5) })],
      undefined,
      'no key signs access_token with ES256 from 2026-11-20T00:00:00Z until 2026-11-20T05:00:00Z',
    ],
    [
      'a key that comes too early',
      [key('b'), key('a')],
      [known('a')],
      'a reload refuses this: keys[0].not_before: b may sign from 2026-11-20T01:00:00Z: until then relying parties may have a cached key set without it (max-age 3600 s); allow_early: true lets it sign at once',
    ],
    [
      'a key that was published too late',
      [key('b', { not_before: at(0.25) }), key('a')],
      [known('a'), known('b', at(0.5))],
      'a reload refuses this: keys[0].not_before: b may sign from 2026-11-20T00:30:00Z: until then relying parties may have a cached key set without it (max-age 3600 s); allow_early: true lets it sign at once',
    ],
    [
      'a key that ends before it may sign',
      [key('b', { not_after: at(0.5) }), key('a')],
      [known('a')],
      'b ends before it may sign',
    ],
    [
      'two that end together',
      [key('c', { not_before: at(2) }), key('a', { not_after: at(5) }), key('b', { not_after: at(5.5) })],
      undefined,
      'a and b stop signing within an hour of each other',
    ],
  ])('warns of %s', (_, keys, publications, warning) => {
    expect(plan(keys, publications).warnings).toContain(warning)
  })

  it('does not warn about a key that may sign early', () => {
    expect(plan([key('b', { allow_early: true }), key('a', { not_after: at(5) })], [known('a')]).warnings).toEqual([])
  })

  it('does not warn about an unchanged key that already waits', () => {
    const waiting = key('b', { not_before: at(0.25) })
    const { alg, signer, purposes } = waiting
    // Published with the time until which it was held back.
    const entry = { alg, signer, purposes, not_before: at(0.5) }
    const published = (more: object) => [known('a'), ['b', { ...known('b', at(0.5))[1], entry, ...more }]] as const
    expect(plan([waiting, key('a')], published({})).warnings).toEqual([])
    for (const more of [{ withdrawn: now }, { entry: { ...entry, not_before: at(0.25) } }])
      expect(plan([waiting, key('a')], published(more)).warnings).toEqual([
        expect.stringMatching(/^a reload refuses this: keys\[0\]\.not_before: b may sign from /),
      ])
  })

  it('does not warn at the first start', () => {
    expect(plan([key('a')], []).warnings).toEqual([])
  })
})
