import { spawnSync } from 'node:child_process'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { allAlgorithms } from '../../core/jose/algorithms.js'
import { KeyRefused, Unavailable, type SignerProvider } from '../../core/api/signer.js'
import { packageRoot } from '../../core/package-root.js'
import { signatureLength } from '../../core/jose/jwk.js'
import kms from '../../signers/aws-kms/index.js'
import { startKmsDouble, type KmsDouble } from '../../core/testing/kms-double/index.js'
import { errorOf, kmsProvider, never } from '../support/signers/aws-kms-provider.js'

const message = Buffer.from('a message')

let double: KmsDouble
let provider: SignerProvider
let arn: string
beforeAll(async () => {
  double = await startKmsDouble()
  provider = await kmsProvider(double)
  ;({ arn } = await double.createKey('ECC_NIST_P256'))
})
afterEach(() => double.heal())
afterAll(async () => {
  await provider[Symbol.asyncDispose]()
  await double[Symbol.asyncDispose]()
})

/** What an operator reads when a key is refused. */
const refusal = async (ref: string, by = provider): Promise<string> => {
  const error = await errorOf(by.open(ref, 'ES256', never))
  expect(error).toBeInstanceOf(KeyRefused)
  return error.message
}

describe('a key that cannot be used says why when it is opened', () => {
  it('the ARN of another region, without a call', async () => {
    const start = double.calls.length
    const message = await refusal(arn.replace('eu-central-1', 'eu-west-1'))
    expect(message).toMatch(/in the region eu-west-1, but the signer asks eu-central-1: check its option region/)
    expect(double.calls).toHaveLength(start)
  })

  it.each(['arn:aws:kms:eu-central-1:1:key/x', 'arn:aws:s3:::bucket', 'alias/', 'a b', 'key/abc'])(
    '%s: not the name of a key, without a call',
    async (ref) => {
      const start = double.calls.length
      expect(await refusal(ref)).toMatch(/is not the name of a KMS key: write a key ARN/)
      expect(double.calls).toHaveLength(start)
    },
  )

  it('a key and an alias that do not exist', async () => {
    expect(await refusal(arn.replace(/[0-9a-f-]{36}$/, '00000000-0000-0000-0000-000000000000'))).toMatch(/no such key/)
    expect(await refusal('alias/nothing')).toMatch(/no such key/)
  })

  it('another key spec', async () => {
    const { arn: p384 } = await double.createKey('ECC_NIST_P384')
    expect(await refusal(p384)).toMatch(/spec ECC_NIST_P384 and cannot sign ES256, which needs ECC_NIST_P256/)
  })

  it('a key that is not for signing', async () => {
    const { arn: agreement } = await double.createKey('ECC_NIST_P256', { usage: 'KEY_AGREEMENT' })
    expect(await refusal(agreement)).toMatch(/has the usage KEY_AGREEMENT, not SIGN_VERIFY/)
  })

  it.each([
    ['Disabled', /enable it with aws kms enable-key/],
    ['PendingDeletion', /cancel-key-deletion/],
    ['PendingImport', /key material/],
  ] as const)('%s', async (state, hint) => {
    const { arn: key } = await double.createKey('ECC_NIST_P256', { state })
    expect(await refusal(key)).toMatch(hint)
  })

  it.each(['DescribeKey', 'GetPublicKey'])('no right to %s, which is named', async (action) => {
    double.fail({ fault: { error: 'AccessDeniedException', message: 'no policy allows it' }, action })
    expect(await refusal(arn)).toMatch(new RegExp(`need kms:${action} on it.*no policy allows it`))
  })

  it('a public key of another key', async () => {
    const { arn: other } = await double.createKey('ECC_NIST_P256')
    double.fail({ fault: { keyId: other }, action: 'GetPublicKey' })
    expect(await refusal(arn)).toContain(other)
  })

  it('no AWS region anywhere', async () => {
    const script = `
      const { default: kms } = await import('./signers/aws-kms/index.ts')
      const log = { debug() {}, info() {}, warn() {}, error() {} }
      const provider = await kms.create({ deadline_ms: 500, concurrency: 1, replicas: [] }, { clock: Date.now, log })
      await provider.open('alias/x', 'ES256', new AbortController().signal).catch((error) => console.log(error.name, error.message))
      await provider[Symbol.asyncDispose]()`
    const { PATH } = process.env
    const run = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      cwd: packageRoot,
      encoding: 'utf8',
      env: { PATH, AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' },
    })
    expect(run.stdout).toBe('KeyRefused no AWS region is known: set the option region, or AWS_REGION\n')
    // Nor does the SDK say there what its coming versions will need.
    expect(run.stderr).toBe('')
  })

  it('a service that does not answer is Unavailable, not refused', async () => {
    double.fail({ fault: { hang: true } })
    const slow = await kmsProvider(double, { deadline_ms: 150 })
    expect(await errorOf(slow.open(arn, 'ES256', never))).toBeInstanceOf(Unavailable)
    await slow[Symbol.asyncDispose]()
  })
})

describe('a new key', () => {
  it.each(allAlgorithms)('%s: made, named by the alias, and signs', async (alg) => {
    const made = (await provider.create?.(`made-${alg}`, alg, never)) ?? ''
    expect(made).toMatch(/^arn:aws:kms:eu-central-1:\d{12}:key\/[0-9a-f-]{36}$/)
    const signer = await provider.open(`alias/made-${alg}`, alg, never)
    expect((await signer.sign(message, never)).length).toBe(signatureLength(alg, signer.publicJwk))
  })

  it('does not take an alias that is there, and makes nothing', async () => {
    await double.createKey('ECC_NIST_P256', { alias: 'alias/taken' })
    const start = double.calls.length
    const error = await errorOf(provider.create?.('taken', 'ES256', never) ?? Promise.resolve())
    expect(error).toBeInstanceOf(KeyRefused)
    expect(error.message).toMatch(/alias\/taken already exists/)
    expect(double.calls.slice(start).map(({ eventName }) => eventName)).toEqual(['DescribeKey'])
  })

  it('is not lost when its alias cannot be made', async () => {
    double.fail({ fault: { error: 'AccessDeniedException' }, action: 'CreateAlias' })
    const error = await errorOf(provider.create?.('unnamed', 'ES256', never) ?? Promise.resolve())
    const [made = ''] = /arn:aws:kms:\S+/.exec(error.message) ?? []
    expect((await provider.open(made, 'ES256', never)).alg).toBe('ES256')
    expect(error.message).toMatch(/kms:CreateAlias/)
  })

  it('is asked for once: a lost answer makes no second key', async () => {
    double.fail({ fault: { reset: true }, action: 'CreateKey' })
    const start = double.calls.length
    expect(await errorOf(provider.create?.('lost', 'ES256', never) ?? Promise.resolve())).toBeInstanceOf(Unavailable)
    expect(double.calls.slice(start).filter(({ eventName }) => eventName === 'CreateKey')).toHaveLength(1)
  })

  it('may take longer to be made than a signature', async () => {
    await using hasty = await kmsProvider(double, { deadline_ms: 1000 })
    double.fail({ fault: { latency: 1500 }, action: 'CreateKey' })
    expect(await hasty.create?.('slow', 'ES256', never)).toMatch(/^arn:/)
  })

  it.each(['a b', 'aws/mine', '', 'x'.repeat(300)])('%j is no name for one', async (ref) => {
    expect(await errorOf(provider.create?.(ref, 'ES256', never) ?? Promise.resolve())).toBeInstanceOf(KeyRefused)
  })
})

describe('the options', () => {
  const check = async (options: unknown) => {
    const result = await kms.options?.['~standard'].validate(options)
    return result?.issues?.map(({ path, message }) => `${path?.map(String).join('.') ?? ''}: ${message}`) ?? []
  }

  it('have defaults for everything', async () => {
    expect(await kms.options?.['~standard'].validate({})).toEqual({
      value: { replicas: [], deadline_ms: 2000, concurrency: 64, probe_secs: 300 },
    })
  })

  it.each([
    [{ region: 'Frankfurt' }, /^region: .*eu-central-1/],
    [{ endpoint: 'http://kms.example.com' }, /^endpoint: .*https/],
    [{ endpoint: 'kms.example.com' }, /^endpoint: /],
    [{ replicas: ['eu-west-1'] }, /^replicas.0: /],
    [{ deadline_ms: 0 }, /^deadline_ms: /],
    [{ profile: 'bank' }, /profile/],
  ])('%j is refused', async (options, problem) => {
    expect(await check(options)).toEqual([expect.stringMatching(problem)])
  })

  it.each(['https://vpce-1.kms.eu-central-1.vpce.amazonaws.com', 'http://127.0.0.1:4566', 'http://[::1]:1'])(
    '%s is an endpoint',
    async (endpoint) => {
      expect(await check({ endpoint })).toEqual([])
    },
  )
})
