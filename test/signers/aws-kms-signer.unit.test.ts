import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { KeyRefused, Unavailable, type JwsAlg, type SignatureTrace, type Signer } from '../../core/api/signer.js'
import { checkPublicJwk } from '../../core/jose/public-key-guard.js'
import { verifySignature } from '../../core/jose/verify-signature.js'
import { doubleRegion, startKmsDouble, type KmsDouble, type KmsFault } from '../../core/testing/kms-double/index.js'
import { errorOf, kmsProvider, never } from '../support/signers/aws-kms-provider.js'

const message = Buffer.from('a message')
const isValid = ({ alg, publicJwk }: Signer, signature: Uint8Array, of: Uint8Array = message): Promise<boolean> =>
  verifySignature({ alg, jwk: publicJwk, publicKey: checkPublicJwk(publicJwk, [alg]).publicKey }, of, signature)

let double: KmsDouble
let arn: string
beforeAll(async () => {
  double = await startKmsDouble()
  ;({ arn } = await double.createKey('ECC_NIST_P256', { alias: 'alias/tokens' }))
})
afterEach(() => double.heal())
afterAll(() => double[Symbol.asyncDispose]())

const callsSince = (start: number, action = 'Sign') =>
  double.calls.slice(start).filter(({ eventName }) => eventName === action)

/** A provider and its signer on the double. */
const openOn = async (options: Parameters<typeof kmsProvider>[1] = {}, alg: JwsAlg = 'ES256', ref = arn) => {
  const provider = await kmsProvider(double, options)
  const signer = await provider.open(ref, alg, never)
  return { provider, signer, [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose]() }
}

describe('requests to AWS KMS', () => {
  it('describes the key and fetches its public half once, then only signs, with the ARN', async () => {
    const start = double.calls.length
    await using kms = await openOn({}, 'ES256', 'alias/tokens')
    for (let count = 0; count < 3; count++) await kms.signer.sign(message, never)
    const asked = double.calls.slice(start).map(({ eventName, keyId }) => [eventName, keyId])
    expect(asked).toEqual([
      ['DescribeKey', 'alias/tokens'],
      ['GetPublicKey', arn],
      ['Sign', arn],
      ['Sign', arn],
      ['Sign', arn],
    ])
  })

  it('signs a digest where the algorithm hashes first, the message itself for Ed25519', async () => {
    const { arn: ed25519 } = await double.createKey('ECC_NIST_EDWARDS25519')
    const start = double.calls.length
    await using es256 = await openOn()
    await using eddsa = await openOn({}, 'EdDSA', ed25519)
    await es256.signer.sign(message, never)
    await eddsa.signer.sign(message, never)
    const [digested, raw] = callsSince(start).map(({ body }) => body)
    expect(digested).toMatchObject({ MessageType: 'DIGEST', SigningAlgorithm: 'ECDSA_SHA_256' })
    expect(Buffer.from(String(digested?.['Message']), 'base64')).toHaveLength(32)
    expect(raw).toMatchObject({ MessageType: 'RAW', SigningAlgorithm: 'ED25519_SHA_512' })
    expect(Buffer.from(String(raw?.['Message']), 'base64')).toEqual(message)
  })

  it('identifies each signature as CloudTrail does', async () => {
    await using kms = await openOn({}, 'ES256', 'alias/tokens')
    const traces: SignatureTrace[] = [{}, {}]
    for (const trace of traces) await kms.signer.sign(message, never, trace)
    const trail = double.cloudTrail().Records.filter(({ eventName }) => eventName === 'Sign')
    expect(traces.map(({ reference }) => reference)).toEqual(trail.slice(-2).map(({ requestID }) => requestID))
    expect(trail.at(-1)).toMatchObject({ awsRegion: doubleRegion, requestParameters: { keyId: arn } })
    expect(traces.map(({ key }) => key)).toEqual([arn, arn])
  })

  it.each(['RSA_3072', 'RSA_4096'] as const)('signs with %s', async (spec) => {
    const { arn: rsa } = await double.createKey(spec)
    for (const alg of ['RS256', 'PS256'] as const) {
      await using kms = await openOn({}, alg, rsa)
      expect(await isValid(kms.signer, await kms.signer.sign(message, never))).toBe(true)
    }
  })

  it('takes the key id and the ARN of the alias too', async () => {
    const aliasArn = arn.replace(/key\/.+$/, 'alias/tokens')
    for (const ref of [arn.split('/')[1] ?? '', aliasArn]) {
      await using kms = await openOn({}, 'ES256', ref)
      expect(await isValid(kms.signer, await kms.signer.sign(message, never))).toBe(true)
    }
  })

  it('keeps using its key when the alias moves', async () => {
    const { arn: other } = await double.createKey('ECC_NIST_P256')
    await double.createKey('ECC_NIST_P256', { alias: 'alias/moving' })
    await using kms = await openOn({}, 'ES256', 'alias/moving')
    double.moveAlias('alias/moving', other)
    expect(await isValid(kms.signer, await kms.signer.sign(message, never))).toBe(true)
  })

  it('never exceeds its limit of concurrent requests', async () => {
    await using own = await startKmsDouble()
    const provider = await kmsProvider(own, { concurrency: 3 })
    const signer = await provider.open((await own.createKey('ECC_NIST_P256')).arn, 'ES256', never)
    own.fail({ fault: { latency: 30 }, action: 'Sign' })
    const signatures = await Promise.all(Array.from({ length: 12 }, () => signer.sign(message, never)))
    expect(signatures).toHaveLength(12)
    expect(own.maxConcurrent()).toBe(3)
    await provider[Symbol.asyncDispose]()
  })
})

describe('a fault that passes', () => {
  const passing = [
    'ThrottlingException',
    'LimitExceededException',
    'KMSInternalException',
    'DependencyTimeoutException',
    'KeyUnavailableException',
  ]
  const faults: [string, KmsFault][] = [
    ...passing.map((error): [string, KmsFault] => [error, { error }]),
    ['a reset connection', { reset: true }],
    ['503 without JSON', { status: 503 }],
  ]

  it.each(faults)('%s: tried again, and signed', async (_, fault) => {
    await using kms = await openOn()
    double.fail({ fault, action: 'Sign', times: 2 })
    const start = double.calls.length
    expect(await isValid(kms.signer, await kms.signer.sign(message, never))).toBe(true)
    expect(callsSince(start)).toHaveLength(3)
  })

  it.each(faults)('%s that stays: Unavailable, certainly not applied, after four attempts', async (name, fault) => {
    await using kms = await openOn()
    double.fail({ fault, action: 'Sign' })
    const start = double.calls.length
    const error = await errorOf(kms.signer.sign(message, never))
    expect(error).toBeInstanceOf(Unavailable)
    expect(error).toMatchObject({ component: 'signers.aws-kms', applied: 'no' })
    if (passing.includes(name)) expect(error.message).toContain(name)
    expect(callsSince(start)).toHaveLength(4)
  })

  it('distinguishes throttling from failure', async () => {
    await using kms = await openOn()
    const lift = double.fail({ fault: { error: 'ThrottlingException' }, action: 'Sign' })
    expect((await errorOf(kms.signer.sign(message, never))).message).toMatch(/throttled: .*quota/)
    lift()
    double.fail({ fault: { reset: true }, action: 'Sign' })
    expect((await errorOf(kms.signer.sign(message, never))).message).toMatch(/unreachable/)
  })

  it('30 % throttled: of 300 signatures nearly all are made, and none is wrong', async () => {
    // Of attempts there are as many as always; a busy machine has the time to make them.
    await using kms = await openOn({ deadline_ms: 20_000 })
    double.fail({ fault: { error: 'ThrottlingException' }, action: 'Sign', rate: 0.3 })
    const outcomes = await Promise.allSettled(Array.from({ length: 300 }, () => kms.signer.sign(message, never)))
    const made = outcomes.filter((outcome) => outcome.status === 'fulfilled')
    const lost = outcomes.filter((outcome) => outcome.status === 'rejected')
    expect(lost.every(({ reason }) => reason instanceof Unavailable)).toBe(true)
    expect(made.length).toBeGreaterThan(285)
    for (const { value } of made) expect(await isValid(kms.signer, value)).toBe(true)
  })

  it('no answer at all: Unavailable at the deadline, and the next signature is made', async () => {
    await using kms = await openOn({ deadline_ms: 300 })
    const lift = double.fail({ fault: { hang: true }, action: 'Sign' })
    const error = await errorOf(kms.signer.sign(message, never))
    expect(error).toBeInstanceOf(Unavailable)
    expect(error.message).toMatch(/did not answer Sign within 300 ms/)
    lift()
    expect(await isValid(kms.signer, await kms.signer.sign(message, never))).toBe(true)
  })

  it('one hanging connection: the second attempt signs within the deadline', async () => {
    await using kms = await openOn({ deadline_ms: 2000 })
    double.fail({ fault: { hang: true }, action: 'Sign', times: 1 })
    expect(await isValid(kms.signer, await kms.signer.sign(message, never))).toBe(true)
  })

  it('nobody listens: Unavailable', async () => {
    const gone = await startKmsDouble()
    const provider = await kmsProvider(gone)
    await gone[Symbol.asyncDispose]()
    expect(await errorOf(provider.open(arn, 'ES256', never))).toBeInstanceOf(Unavailable)
    expect(await errorOf(provider.ping(never))).toBeInstanceOf(Unavailable)
    await provider[Symbol.asyncDispose]()
  })

  it('ends with the caller’s signal, with its reason', async () => {
    await using kms = await openOn()
    double.fail({ fault: { hang: true }, action: 'Sign' })
    const controller = new AbortController()
    const reason = new Error('the request is over')
    const signing = errorOf(kms.signer.sign(message, controller.signal))
    controller.abort(reason)
    expect(await signing).toBe(reason)
  })
})

describe('a fault that stays until an operator acts', () => {
  const permanent: [string, RegExp][] = [
    ['AccessDeniedException', /need kms:Sign/],
    ['DisabledException', /is disabled: enable it/],
    ['KMSInvalidStateException', /waiting for its deletion/],
    ['NotFoundException', /no such key/],
    ['InvalidKeyUsageException', /cannot sign with this algorithm/],
    ['IncorrectKeyException', /refuses Sign/],
    ['UnrecognizedClientException', /does not know the AWS access key/],
    ['ValidationException', /refuses Sign/],
    ['SomethingNewException', /refuses Sign/],
  ]

  it.each(permanent)('%s: KeyRefused with a hint, and one call only', async (error, hint) => {
    await using kms = await openOn()
    double.fail({ fault: { error }, action: 'Sign' })
    const start = double.calls.length
    const refused = await errorOf(kms.signer.sign(message, never))
    expect(refused).toBeInstanceOf(KeyRefused)
    expect(refused.message).toMatch(hint)
    expect(refused.message).toContain(arn)
    expect(callsSince(start)).toHaveLength(1)
  })

  it('a key that is disabled, and later deleted, while it is used', async () => {
    const { arn: doomed } = await double.createKey('ECC_NIST_P256')
    await using kms = await openOn({}, 'ES256', doomed)
    for (const state of ['Disabled', 'PendingDeletion'] as const) {
      double.setState(doomed, state)
      expect(await errorOf(kms.signer.sign(message, never))).toBeInstanceOf(KeyRefused)
    }
    double.setState(doomed, 'Enabled')
    expect(await isValid(kms.signer, await kms.signer.sign(message, never))).toBe(true)
  })
})

describe('a ping', () => {
  it('needs an answer, but no permission', async () => {
    const provider = await kmsProvider(double, { deadline_ms: 200 })
    await expect(provider.ping(never)).resolves.toBeUndefined()
    const lift = double.fail({ fault: { error: 'AccessDeniedException' } })
    await expect(provider.ping(never)).resolves.toBeUndefined()
    lift()
    double.fail({ fault: { hang: true } })
    expect(await errorOf(provider.ping(never))).toBeInstanceOf(Unavailable)
    await provider[Symbol.asyncDispose]()
  })

  it.each([[{ error: 'UnrecognizedClientException' }], [{ error: 'UnknownOperationException' }], [{ status: 404 }]])(
    'is not answered by %j',
    async (fault) => {
      await using provider = await kmsProvider(double)
      double.fail({ fault })
      expect(await errorOf(provider.ping(never))).toBeInstanceOf(KeyRefused)
    },
  )
})
