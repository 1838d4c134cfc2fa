/** The double against what AWS documents, through the SDK and OpenSSL, because the signer's tests lean on it. */
import {
  GetPublicKeyCommand,
  KMSClient,
  SignCommand,
  type MessageType,
  type SigningAlgorithmSpec,
} from '@aws-sdk/client-kms'
import { constants, createHash, createPublicKey, verify } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  startKmsDouble,
  doubleRegion,
  type DoubleKeySpec,
  type KmsDouble,
} from '../../core/testing/kms-double/index.js'

let double: KmsDouble
let client: KMSClient
beforeAll(async () => {
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true'
  double = await startKmsDouble()
  const credentials = { accessKeyId: 'AKIADOUBLE', secretAccessKey: 'x' }
  client = new KMSClient({ region: doubleRegion, endpoint: double.endpoint, maxAttempts: 1, credentials })
})
afterAll(async () => {
  client.destroy()
  await double[Symbol.asyncDispose]()
})

const sign = (KeyId: string, SigningAlgorithm: SigningAlgorithmSpec, MessageType: MessageType, Message: Uint8Array) =>
  client.send(new SignCommand({ KeyId, SigningAlgorithm, MessageType, Message }))
const errorName = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    (error: unknown) => (error as Error).name,
  )

const cases: [DoubleKeySpec, SigningAlgorithmSpec, string, object][] = [256, 384, 512].flatMap((bits) => [
  ['RSA_2048', `RSASSA_PKCS1_V1_5_SHA_${bits}` as SigningAlgorithmSpec, `sha${bits}`, {}],
  [
    'RSA_2048',
    `RSASSA_PSS_SHA_${bits}` as SigningAlgorithmSpec,
    `sha${bits}`,
    { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: bits / 8 },
  ],
])
cases.push(['ECC_NIST_P256', 'ECDSA_SHA_256', 'sha256', {}], ['ECC_NIST_P384', 'ECDSA_SHA_384', 'sha384', {}])

describe('the KMS double', () => {
  it.each(cases)(
    '%s %s: OpenSSL verifies what it signs, as RAW and as DIGEST',
    async (spec, algorithm, hash, options) => {
      const { arn } = await double.createKey(spec)
      const { PublicKey } = await client.send(new GetPublicKeyCommand({ KeyId: arn }))
      const key = createPublicKey({ key: Buffer.from(PublicKey ?? []), format: 'der', type: 'spki' })
      const message = Buffer.alloc(4096, 'm')
      const digest = createHash(hash).update(message).digest()
      for (const { KeyId, Signature } of [
        await sign(arn, algorithm, 'RAW', message),
        await sign(arn, algorithm, 'DIGEST', digest),
      ]) {
        expect(KeyId).toBe(arn)
        expect(verify(hash, message, { key, ...options }, Signature ?? new Uint8Array())).toBe(true)
      }
      expect(await errorName(sign(arn, algorithm, 'DIGEST', digest.subarray(1)))).toBe('ValidationException')
      expect(await errorName(sign(arn, algorithm, 'RAW', Buffer.alloc(4097)))).toBe('ValidationException')
      expect(await errorName(sign(arn, algorithm, 'RAW', Buffer.alloc(0)))).toBe('ValidationException')
      expect(await errorName(sign(arn, 'ED25519_SHA_512', 'RAW', message))).toBe('InvalidKeyUsageException')
    },
  )

  it('Ed25519: RAW only', async () => {
    const { arn } = await double.createKey('ECC_NIST_EDWARDS25519')
    expect((await sign(arn, 'ED25519_SHA_512', 'RAW', Buffer.from('m'))).Signature).toHaveLength(64)
    expect(await errorName(sign(arn, 'ED25519_SHA_512', 'DIGEST', Buffer.alloc(64)))).toBe('ValidationException')
  })

  it.each([
    ['Disabled', 'DisabledException'],
    ['PendingDeletion', 'KMSInvalidStateException'],
    ['Unavailable', 'KeyUnavailableException'],
  ] as const)('a key that is %s does not sign: %s', async (state, error) => {
    const { arn } = await double.createKey('ECC_NIST_P256', { state })
    expect(await errorName(sign(arn, 'ECDSA_SHA_256', 'RAW', Buffer.from('m')))).toBe(error)
  })

  it('wants a signed request, and answers each one with an id that its record has', async () => {
    const response = await fetch(double.endpoint, {
      method: 'POST',
      headers: { 'x-amz-target': 'TrentService.Sign' },
      body: '{}',
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ __type: 'MissingAuthenticationTokenException' })
    expect(double.calls.at(-1)?.requestID).toBe(response.headers.get('x-amzn-requestid'))
    expect(double.cloudTrail().Records.at(-1)).toMatchObject({
      eventName: 'Sign',
      eventSource: 'kms.amazonaws.com',
      errorCode: 'MissingAuthenticationTokenException',
    })
  })
})
