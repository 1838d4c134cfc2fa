import { afterEach, expect, it } from 'vitest'
import { auditProbes } from '../../core/keys/lifecycle/audited-probes.js'
import { openKeyRing } from '../../core/keys/key-ring.js'
import type { JwsAlg } from '../../core/jose/jwk.js'
import type { SignerProvider } from '../../core/keys/ports.js'
import { keyPurposes } from '../../config/keys.js'
import { kmsProvider } from '../support/signers/aws-kms-provider.js'
import { startKmsDouble } from '../../core/testing/kms-double/index.js'
import { describeWith } from '../support/services/describe-with.js'
import { makeToken, openProvider } from '../support/signers/softhsm/token.js'
import { circuitOf, keyReport, never, order } from '../support/signers/signer-ring.js'

const opened: AsyncDisposable[] = []
const keep = <T extends AsyncDisposable>(one: T): T => {
  opened.push(one)
  return one
}
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

/** As the host opens it: behind a guard. */
const openRing = async (provider: SignerProvider, alg: JwsAlg, ref: string, attemptMs: number) => {
  const audit = { record: () => Promise.resolve() }
  const ring = await openKeyRing({
    keys: [{ kid: 'k', alg, signer: 'remote', ref, purposes: keyPurposes }],
    providers: new Map([['remote', auditProbes('remote', provider, audit)]]),
    clock: Date.now,
    retentionSeconds: () => 610,
    cacheSeconds: 3600,
    signal: never,
    limits: { attemptMs, maxWaitMs: 60_000 },
  })
  return keep(ring)
}

it('a KMS that is slow has one queue: a sign-in goes before renewals, and nobody waits within the time of the KMS', async () => {
  const kms = keep(await startKmsDouble())
  const { arn } = await kms.createKey('ECC_NIST_EDWARDS25519')
  const provider = keep(await kmsProvider(kms, { concurrency: 2, deadline_ms: 500 }))
  const ring = await openRing(provider, 'EdDSA', arn, 500)
  kms.fail({ fault: { latency: 20 }, action: 'Sign' })
  const done: string[] = []
  const ask = (clientId: string, priority: 'renewal' | 'sign_in') =>
    ring.sign(order({ alg: 'EdDSA', clientId, priority })).then(() => done.push(clientId))
  const renewals = Array.from({ length: 80 }, () => ask('greedy', 'renewal'))
  await Promise.all([...renewals, ask('person', 'sign_in')])
  // Two were being signed, and one more may have been quicker.
  expect(done.indexOf('person')).toBeLessThanOrEqual(3)
  expect(keyReport(ring, 'k').calls).toMatchObject({ signed: 81, timeout: 0, unavailable: 0 })
  expect(circuitOf(ring, 'remote')).toBe('closed')
})

describeWith('softhsm2', 'the queue before a PKCS#11 token', () => {
  it('is the only one that is long: sessions are given what keeps them busy', async () => {
    const token = keep(await makeToken())
    const provider = keep(await openProvider(token, { sessions: 2, deadline_ms: 20_000 }))
    expect(provider.concurrency).toBeUndefined()
    const ref = (await provider.create?.('key', 'RS256', never)) ?? ''
    const ring = await openRing(provider, 'RS256', ref, 20_000)
    const most: number[] = []
    const asked = Array.from({ length: 1000 }, async () => {
      await ring.sign(order({ alg: 'RS256', priority: 'renewal' }))
      most.push(provider.concurrency ?? Infinity)
    })
    const { running, waiting } = ring.report().signers[0] ?? { running: 0, waiting: 0 }
    expect(running).toBe(provider.concurrency)
    expect(running + waiting).toBe(1000)
    await Promise.all(asked)
    // Two sessions, each with at least two and at most twice 256.
    expect(Math.min(...most)).toBeGreaterThanOrEqual(8)
    expect(Math.max(...most)).toBeLessThanOrEqual(1024)
  })
})
