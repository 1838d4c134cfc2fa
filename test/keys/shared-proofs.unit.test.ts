/** When keys are probed, and how the workers of one host prove them for each other. */
import { describe, expect, it } from 'vitest'
import type { KeyReport, SupervisedKeyRing } from '../../core/keys/key-ring.js'
import { probeKeys } from '../../core/keys/lifecycle/open-ring.js'
import { isProofs, type KeyProof } from '../../core/keys/shared-proofs.js'
import { backend, ec, key, never, open } from '../support/signers/memory-signer.js'

const thumbprintOf = (ring: SupervisedKeyRing, kid: string): string => ring.find(kid)?.opened?.thumbprint ?? ''

describe('the probe interval', () => {
  const well: Pick<KeyReport, 'state' | 'trust' | 'reason' | 'probeSeconds'> = {
    ...{ state: 'active', trust: 'proved', reason: undefined, probeSeconds: undefined },
  }
  /** The signers that are probed for a key of this age, in seconds since its last probe. */
  const isProbed = async (age: number, more: Partial<KeyReport> = {}, leads?: boolean): Promise<boolean> => {
    const probed: unknown[] = []
    const report = { keys: [{ ...well, signer: 'hsm', probeAge: age * 1000, ...more } as KeyReport], signers: [] }
    const probe: SupervisedKeyRing['probe'] = (_signal, signer) => Promise.resolve((probed.push(signer), []))
    await probeKeys({ report: () => report, probe }, never, leads)
    return probed.length > 0
  }
  const firstProbed = async (more: Partial<KeyReport> = {}, leads?: boolean): Promise<number> => {
    for (let age = 0; age <= 1000; age++) if (await isProbed(age, more, leads)) return age
    return Infinity
  }

  it('is 30 s, or what the signer says', async () => {
    expect(await firstProbed()).toBe(30)
    expect(await firstProbed({ probeSeconds: 300 })).toBe(300)
    expect(await firstProbed({ probeSeconds: 5 })).toBe(5)
    expect(await isProbed(29.999)).toBe(false)
    expect(await isProbed(Infinity)).toBe(true)
  })

  it('is 30 s at most for a key that is not well', async () => {
    expect(await firstProbed({ probeSeconds: 300, reason: 'no answer' })).toBe(30)
    expect(await firstProbed({ probeSeconds: 300, trust: 'quarantined' })).toBe(30)
    expect(await firstProbed({ probeSeconds: 5, trust: 'refused' })).toBe(5)
  })

  it('is twice as long for a key of which another process of the host reports', async () => {
    expect(await firstProbed({ probeSeconds: 300 }, false)).toBe(600)
    expect(await firstProbed({}, false)).toBe(60)
    expect(await firstProbed({ probeSeconds: 300, trust: 'refused' }, false)).toBe(30)
  })

  it('is that of next and active keys alone', async () => {
    expect(await firstProbed({ state: 'next' })).toBe(30)
    for (const state of ['retired', 'gone'] as const) expect(await firstProbed({ state })).toBe(Infinity)
    expect(await firstProbed({ trust: 'unopened' })).toBe(Infinity)
  })
})

describe('a process that hears of the probes of another', () => {
  const pair = async () => {
    const shared = ec()
    const leading = backend(['a', shared])
    const following = backend(['a', shared])
    const heard: KeyProof[] = []
    const lead = await open([key('a')], leading, undefined, { proved: (proofs) => void heard.push(...proofs) })
    const follower = await open([key('a')], following)
    /** The leading process probes, and the other hears of it. */
    const probe = async () => {
      heard.length = 0
      await lead.probe(never)
      follower.hear(heard)
      return heard
    }
    const trust = () => follower.find('a')?.trust
    return { leading, following, lead, follower, probe, trust }
  }

  it('counts a probe that passed as its own', async () => {
    const { follower, probe, trust } = await pair()
    const { probedAt: before = 0 } = follower.find('a') ?? {}
    expect(await probe()).toEqual([{ kid: 'a', thumbprint: thumbprintOf(follower, 'a'), outcome: 'passed' }])
    expect(follower.find('a')?.probedAt).toBeGreaterThan(before)
    expect(trust()).toBe('proved')
  })

  it('no longer signs with a key that failed there, until it has proved the key itself', async () => {
    const { leading, follower, probe, trust } = await pair()
    leading.wrong.add('a')
    expect(await probe()).toMatchObject([{ outcome: 'failed' }])
    expect(trust()).toBe('quarantined')
    expect(() => follower.signingKey('access_token', 'ES256')).toThrow()
    leading.wrong.clear()
    await probe()
    expect(trust()).toBe('quarantined')
    await follower.probe(never)
    expect(trust()).toBe('proved')
  })

  it('takes its own proof for good while the key still fails there, and doubts it again after it passed', async () => {
    const { leading, follower, probe, trust } = await pair()
    leading.wrong.add('a')
    await probe()
    await follower.probe(never)
    expect(await probe()).toMatchObject([{ outcome: 'failed' }])
    expect(trust()).toBe('proved')
    leading.wrong.clear()
    await probe()
    leading.wrong.add('a')
    await probe()
    expect(trust()).toBe('quarantined')
  })

  it('reports a key that did not answer there, and proves it itself', async () => {
    const { leading, follower, probe, trust } = await pair()
    leading.down.add('a')
    expect(await probe()).toMatchObject([{ outcome: 'unavailable', reason: 'down' }])
    expect(trust()).toBe('proved')
    expect(follower.report().keys).toMatchObject([{ reason: 'down' }])
    await expect.poll(() => follower.report().keys[0]?.reason, { timeout: 10_000 }).toBeUndefined()
  })

  it('believes no word about a key that it saw fail itself, or about another key of that name', async () => {
    const { following, follower, probe, trust } = await pair()
    following.wrong.add('a')
    await follower.probe(never)
    await probe()
    expect(trust()).toBe('quarantined')
    following.wrong.clear()
    await follower.probe(never)
    follower.hear([{ kid: 'a', thumbprint: 'another', outcome: 'failed' }])
    follower.hear([{ kid: 'b', thumbprint: thumbprintOf(follower, 'a'), outcome: 'failed' }])
    expect(trust()).toBe('proved')
  })

  it('takes nothing else for proofs', () => {
    for (const message of [
      undefined,
      'stop',
      null,
      {},
      { proofs: 'all' },
      { proofs: [{ outcome: 'well' }] },
      { listening: {} },
    ])
      expect(isProofs(message)).toBe(false)
  })
})
