import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { keyPurposes } from '../../config/keys.js'
import { openKeyRing } from '../../core/keys/key-ring.js'
import type { KeyRing, SignerProvider } from '../../core/keys/ports.js'
import { Unavailable } from '../../core/unavailable.js'
import { kmsProvider } from '../support/signers/aws-kms-provider.js'
import { startKmsDouble, type KmsDouble } from '../../core/testing/kms-double/index.js'
import { circuitOf, never, order } from '../support/signers/signer-ring.js'

const replicaRegion = 'eu-west-1'
let double: KmsDouble
let arn: string
beforeAll(async () => {
  double = await startKmsDouble()
  ;({ arn } = await double.createKey('ECC_NIST_P256', { multiRegion: true }))
  double.replicate(arn, replicaRegion)
})
afterEach(() => double.heal())
afterAll(() => double[Symbol.asyncDispose]())

/** Background probes are put off for longer than a test takes. */
const openRing = (provider: SignerProvider) =>
  openKeyRing({
    keys: [{ kid: 'k', alg: 'ES256', signer: 'kms', ref: arn, purposes: keyPurposes }],
    providers: new Map([['kms', provider]]),
    clock: Date.now,
    retentionSeconds: () => 610,
    cacheSeconds: 3600,
    signal: never,
    limits: { attemptMs: 60_000, maxWaitMs: 60_000, probeMs: 1_000_000, maxProbeMs: 1_000_000 },
  })

const signRequests = (): number => double.calls.filter(({ eventName }) => eventName === 'Sign').length

/** How many requests reach KMS while so many signatures fail. */
const requestsOf = async (ring: KeyRing, count: number): Promise<number> => {
  const before = signRequests()
  const asked = await Promise.allSettled(Array.from({ length: count }, () => ring.sign(order())))
  for (const one of asked) expect(one).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) as unknown })
  return signRequests() - before
}

describe.each([
  { regions: 1, replicas: [] },
  { regions: 2, replicas: [replicaRegion] },
])('F13 an outage of AWS KMS in $regions regions', ({ regions, replicas }) => {
  const openKms = (concurrency = 64) => kmsProvider(double, { replicas, deadline_ms: 10_000, concurrency })

  it.each([
    ['throttles', { error: 'ThrottlingException' }],
    ['resets connections', { reset: true }],
  ] as const)('that %s: four requests a region for one signature', async (_, fault) => {
    await using provider = await openKms()
    await using ring = await openRing(provider)
    double.fail({ fault, action: 'Sign' })
    expect(await requestsOf(ring, 1)).toBe(4 * regions)
  })

  it('F14 that does not answer: two requests for one signature, in one region or in each of two', async () => {
    await using provider = await kmsProvider(double, { replicas, deadline_ms: 2000 })
    await using ring = await openRing(provider)
    double.fail({ fault: { hang: true }, action: 'Sign' })
    expect(await requestsOf(ring, 1)).toBe(2)
  })

  it('in all: those of ten failures in a row, and those under way when the circuit opens', async () => {
    const concurrency = 5
    await using provider = await openKms(concurrency)
    await using ring = await openRing(provider)
    double.fail({ fault: { error: 'KMSInternalException' }, action: 'Sign' })
    const most = (9 + concurrency) * 4 * regions
    const requests = await requestsOf(ring, 100)
    expect(requests).toBeGreaterThanOrEqual(10 * 4 * regions)
    expect(requests).toBeLessThanOrEqual(most)
    expect(circuitOf(ring, 'kms')).toBe('open')
    expect(await requestsOf(ring, 100)).toBe(0)
  })
})
