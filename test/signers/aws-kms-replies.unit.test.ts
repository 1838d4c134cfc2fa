import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { KeyRefused, Unavailable, type JwsAlg, type Signer } from '../../core/api/signer.js'
import { openKeyRing } from '../../core/keys/key-ring.js'
import { checkPublicJwk } from '../../core/jose/public-key-guard.js'
import { verifySignature } from '../../core/jose/verify-signature.js'
import type { AuditEvent } from '../../core/observe/audit.js'
import {
  startKmsDouble,
  type DoubleKeySpec,
  type KmsDouble,
  type KmsFault,
} from '../../core/testing/kms-double/index.js'
import { newJournal } from '../support/signers/softhsm/watched.js'
import { errorOf, kmsProvider, never } from '../support/signers/aws-kms-provider.js'
import { signerServices } from '../support/signers/services.js'

const message = Buffer.from('a message')
const isValid = ({ alg, publicJwk }: Signer, signature: Uint8Array): Promise<boolean> =>
  verifySignature({ alg, jwk: publicJwk, publicKey: checkPublicJwk(publicJwk, [alg]).publicKey }, message, signature)

let double: KmsDouble
let arn: string
beforeAll(async () => {
  double = await startKmsDouble()
  ;({ arn } = await double.createKey('ECC_NIST_P256'))
})
afterEach(() => double.heal())
afterAll(() => double[Symbol.asyncDispose]())

describe('a reply that is never trusted', () => {
  it.each(['other', ''])('names another key, or none, when it gives the public key: %j', async (named) => {
    const keyId = named === '' ? '' : (await double.createKey('ECC_NIST_P256')).arn
    double.fail({ fault: { keyId }, action: 'GetPublicKey' })
    await using provider = await kmsProvider(double)
    const error = await errorOf(provider.open(arn, 'ES256', never))
    expect(error).toBeInstanceOf(KeyRefused)
    expect(error.message).toContain(keyId)
  })

  it('accepts the id of its own key in the place of the ARN when it gives the public key', async () => {
    double.fail({ fault: { keyId: arn.slice(arn.indexOf('/') + 1) }, action: 'GetPublicKey' })
    await using provider = await kmsProvider(double)
    const signer = await provider.open(arn, 'ES256', never)
    expect(await isValid(signer, await signer.sign(message, never))).toBe(true)
  })

  const damaged: [JwsAlg, DoubleKeySpec, KmsFault, RegExp][] = [
    ['ES256', 'ECC_NIST_P256', { signature: 'truncated' }, /does not have the form of ES256/],
    ['ES256', 'ECC_NIST_P256', { signature: 'not-der' }, /does not have the form/],
    ['ES384', 'ECC_NIST_P384', { signature: 'truncated' }, /does not have the form/],
    ['RS256', 'RSA_2048', { signature: 'truncated' }, /does not have the form/],
    ['EdDSA', 'ECC_NIST_EDWARDS25519', { signature: 'truncated' }, /does not have the form/],
    ['ES256', 'ECC_NIST_P256', { keyId: 'another' }, /by another key: another/],
    ['ES256', 'ECC_NIST_P256', { keyId: '' }, /by another key/],
  ]

  it.each(damaged)('%s by %s, %j: is no signature, and the log says why', async (alg, spec, fault, why) => {
    const { arn: key } = await double.createKey(spec)
    const journal = newJournal()
    await using provider = await kmsProvider(double, {}, { ...signerServices, log: journal })
    const signer = await provider.open(key, alg, never)
    double.fail({ fault, action: 'Sign' })
    expect(await isValid(signer, await signer.sign(message, never))).toBe(false)
    expect(journal.lines.join('\n')).toMatch(why)
    expect(journal.lines.join('\n')).toContain(key)
  })

  it.each([{ signature: 'truncated' }, { signature: 'not-der' }, { keyId: 'another' }] as KmsFault[])(
    'quarantines the key, as one that does not verify (F16): %j',
    async (fault) => {
      await using provider = await kmsProvider(double)
      const events: AuditEvent[] = []
      await using ring = await openKeyRing({
        keys: [{ kid: 'k', alg: 'ES256', signer: 'kms', ref: arn, purposes: ['access_token'] }],
        providers: new Map([['kms', provider]]),
        clock: Date.now,
        retentionSeconds: () => 610,
        cacheSeconds: 3600,
        signal: never,
        audit: { record: async (...recorded) => void events.push(...recorded) },
      })
      double.fail({ fault, action: 'Sign' })
      const order = { purpose: 'access_token', alg: 'ES256', priority: 'machine', clientId: 'c' } as const
      await expect(ring.sign({ ...order, input: () => 'a.b', signal: never })).rejects.toBeInstanceOf(Unavailable)
      const [key] = ring.report().keys
      expect(key).toMatchObject({ trust: 'quarantined', quarantines: 1, calls: { bad_signature: 1, refused: 0 } })
      expect(events).toMatchObject([{ event: 'signer.quarantined', kid: 'k', signer: 'kms' }])
      double.heal()
      await ring.probe(never)
      expect(ring.report().keys[0]?.trust).toBe('proved')
    },
  )

  it.each(['other-key', 'flipped-bit'] as const)(
    '%s: has the right form, and does not verify with the published key',
    async (how) => {
      await using provider = await kmsProvider(double)
      const signer = await provider.open(arn, 'ES256', never)
      double.fail({ fault: { signature: how }, action: 'Sign' })
      expect(await isValid(signer, await signer.sign(message, never))).toBe(false)
    },
  )
})
