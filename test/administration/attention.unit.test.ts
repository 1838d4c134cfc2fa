import { expect, it } from 'vitest'
import { loadConfig } from '../../config/load.js'
import { findAttention, type AttentionInput } from '../../core/administration/attention.js'
import type { KeyReport } from '../../core/keys/key-ring.js'
import { configWith, minimal } from '../support/server/config-files.js'

const now = Date.UTC(2026, 10, 26)
const day = 86_400_000

const key = (kid: string, more: Partial<KeyReport> = {}): KeyReport => ({
  ...{ kid, alg: 'ES256', signer: 'files', purposes: ['access_token'], state: 'active', trust: 'proved' },
  ...{ published: true, reason: undefined, signerRefusal: undefined, probeAge: 0, probeSeconds: undefined },
  ...{ notBefore: now - day, notAfter: Infinity, goneAt: Infinity, latency: undefined, quarantines: 0 },
  calls: {} as KeyReport['calls'],
  ...more,
})

const calm = async (): Promise<AttentionInput> => ({
  config: await loadConfig(await configWith(minimal()), {}),
  readiness: { ready: true, components: { audit: { status: 'up' } } },
  ...{ refusedReload: [], slots: [], keys: [key('a')], signers: [], shares: {}, now },
  figures: { processes: [{ host: 'a', pid: 1, version: '1', configuration: 'x' }] },
  ...{ waitingApprovals: 0, waitingEnrolments: 0 },
})

it('finds nothing in a calm deployment', async () => {
  expect(findAttention(await calm())).toEqual([])
})

it.each<[string, Partial<AttentionInput>, object]>([
  [
    'a component that is down',
    { readiness: { ready: false, components: { audit: { status: 'down', message: 'full' } } } },
    { kind: 'component_down', name: 'audit', detail: 'full' },
  ],
  [
    'a refused reload',
    { refusedReload: [{ path: 'keys[0]', message: 'is wrong' }] },
    { kind: 'reload_refused', name: 'keys[0]' },
  ],
  ['a key that does not sign', { keys: [key('a', { trust: 'quarantined' })] }, { kind: 'key_untrusted', name: 'a' }],
  [
    'a signer that does not answer',
    { signers: [{ name: 'hsm', circuit: 'open', waiting: 0, running: 0 }] },
    { kind: 'circuit_open', name: 'hsm' },
  ],
  [
    'a key that ends without a successor',
    { keys: [key('a', { notAfter: now + 10 * day })] },
    { kind: 'key_ends', name: 'a' },
  ],
  [
    'replicas that differ',
    {
      figures: {
        processes: [
          { host: 'a', pid: 1, version: '1', configuration: 'x' },
          { host: 'b', pid: 1, version: '1', configuration: 'y' },
        ],
      },
    },
    { kind: 'replica_differs', detail: 'a, b' },
  ],
  [
    'a share that is almost full',
    { shares: { sessions: { bytes: 90, limit: 100 }, replay: { bytes: 10, limit: 100 } } },
    { kind: 'share_full', name: 'sessions', detail: '90 %' },
  ],
  ['approvals that wait', { waitingApprovals: 2 }, { kind: 'approvals_wait', name: '2' }],
  ['enrolments that wait', { waitingEnrolments: 3 }, { kind: 'enrolments_wait', name: '3' }],
])('finds %s', async (_, change, expected) => {
  expect(findAttention({ ...(await calm()), ...change })).toEqual([expect.objectContaining(expected)])
})

it('does not mind a key that another one follows, and names what is serious first', async () => {
  const ending = key('a', { notAfter: now + 10 * day })
  expect(findAttention({ ...(await calm()), keys: [ending, key('b')] })).toEqual([])
  const found = findAttention({ ...(await calm()), keys: [ending, key('c', { trust: 'refused', alg: 'RS256' })] })
  expect(found.map(({ severity }) => severity)).toEqual(['bad', 'warn'])
})
