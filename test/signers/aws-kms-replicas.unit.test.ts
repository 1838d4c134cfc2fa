import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { KeyRefused, Unavailable, type Signer, type SignerServices } from '../../core/api/signer.js'
import { checkPublicJwk } from '../../core/jose/public-key-guard.js'
import { verifySignature } from '../../core/jose/verify-signature.js'
import { startKmsDouble, type KmsDouble } from '../../core/testing/kms-double/index.js'
import { kmsProvider, never } from '../support/signers/aws-kms-provider.js'
import { signerServices } from '../support/signers/services.js'

const message = Buffer.from('a message')
const [first, second] = ['eu-central-1', 'eu-west-1'] as const

let double: KmsDouble
let arn: string
let replica: string
beforeAll(async () => {
  double = await startKmsDouble()
  ;({ arn } = await double.createKey('ECC_NIST_P256', { multiRegion: true }))
  replica = double.replicate(arn, second)
})
afterEach(() => double.heal())
afterAll(() => double[Symbol.asyncDispose]())

const openOn = async (services?: SignerServices, deadline_ms = 2000) => {
  const provider = await kmsProvider(double, { replicas: [second], deadline_ms }, services)
  return { provider, [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose]() }
}
const signedBy = async (signer: Signer): Promise<string | undefined> => {
  const signature = await signer.sign(message, never)
  const { alg, publicJwk } = signer
  const { publicKey } = checkPublicJwk(publicJwk, [alg])
  expect(await verifySignature({ alg, jwk: publicJwk, publicKey }, message, signature)).toBe(true)
  return double.calls.findLast(({ eventName, status }) => eventName === 'Sign' && status === 200)?.keyArn
}

describe('replicas of a multi-Region key', () => {
  it('are checked when the key is opened, and do not sign while the first region does', async () => {
    await using kms = await openOn()
    const start = double.calls.length
    const signer = await kms.provider.open(arn, 'ES256', never)
    const asked = double.calls.slice(start).map(({ eventName, keyId }) => `${eventName} ${keyId}`)
    expect(asked.toSorted()).toEqual(
      ['DescribeKey', 'GetPublicKey'].flatMap((action) => [`${action} ${arn}`, `${action} ${replica}`]).toSorted(),
    )
    expect(await signedBy(signer)).toBe(arn)
  })

  it.each([
    ['throttles', { error: 'ThrottlingException' }],
    ['resets connections', { reset: true }],
    ['hangs', { hang: true }],
  ] as const)('sign within the same call when the first region %s', async (_, fault) => {
    await using kms = await openOn(undefined, 1000)
    const signer = await kms.provider.open(arn, 'ES256', never)
    double.fail({ fault, region: first })
    expect(await signedBy(signer)).toBe(replica)
  })

  it('the first region is left in peace for 10 s, then asked again', async () => {
    let now = 0
    await using kms = await openOn({ ...signerServices, clock: () => now })
    const signer = await kms.provider.open(arn, 'ES256', never)
    const lift = double.fail({ fault: { error: 'KMSInternalException' }, region: first })
    await signedBy(signer)
    lift()
    const start = double.calls.length
    expect(await signedBy(signer)).toBe(replica)
    expect(double.calls.slice(start)).toHaveLength(1)
    now += 10_001
    expect(await signedBy(signer)).toBe(arn)
  })

  it('open the key when the first region is away, which joins when it is back', async () => {
    let now = 0
    await using kms = await openOn({ ...signerServices, clock: () => now }, 400)
    const lift = double.fail({ fault: { hang: true }, region: first })
    const signer = await kms.provider.open(arn, 'ES256', never)
    expect(await signedBy(signer)).toBe(replica)
    lift()
    now += 10_001
    expect(await signedBy(signer)).toBe(arn)
  })

  it('do not hide that the first region refuses', async () => {
    await using kms = await openOn()
    const signer = await kms.provider.open(arn, 'ES256', never)
    double.fail({ fault: { error: 'AccessDeniedException' }, action: 'Sign', region: first })
    await expect(signer.sign(message, never)).rejects.toBeInstanceOf(KeyRefused)
  })

  it('all down: Unavailable', async () => {
    await using kms = await openOn(undefined, 400)
    const signer = await kms.provider.open(arn, 'ES256', never)
    double.fail({ fault: { hang: true } })
    await expect(signer.sign(message, never)).rejects.toBeInstanceOf(Unavailable)
  })

  it('must be the same key: an alias that names two keys is refused', async () => {
    await double.createKey('ECC_NIST_P256', { alias: 'alias/twins' })
    await double.createKey('ECC_NIST_P256', { alias: 'alias/twins', region: second })
    await using kms = await openOn()
    await expect(kms.provider.open('alias/twins', 'ES256', never)).rejects.toThrow(/is not the same key as/)
  })

  it('must be there: a key of one region is refused', async () => {
    const { arn: single } = await double.createKey('ECC_NIST_P256')
    await using kms = await openOn()
    await expect(kms.provider.open(single, 'ES256', never)).rejects.toBeInstanceOf(KeyRefused)
  })

  it('new keys are multi-Region keys', async () => {
    await using kms = await openOn()
    expect(await kms.provider.create?.('everywhere', 'ES256', never)).toMatch(/key\/mrk-/)
  })
})
