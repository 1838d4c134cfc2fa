/** Keys of slots with `replicas`: each region gets a replica with the tags and the alias, whatever interrupted it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { KeyRefused, Unavailable, type KeyTags, type SignerProvider } from '../../core/api/signer.js'
import { startKmsDouble, type FaultRule, type KmsDouble } from '../../core/testing/kms-double/index.js'
import { errorOf, kmsProvider, never } from '../support/signers/aws-kms-provider.js'

const tags: KeyTags = { deployment: 'https://id.example', slot: 'es', kid: 'es-1' }
const inKms = { 'signet:deployment': 'https://id.example', 'signet:slot': 'es', 'signet:kid': 'es-1' }
const [first, second, third] = ['eu-central-1', 'eu-west-1', 'us-east-1'] as const
const replicas = [second, third]

let double: KmsDouble
let provider: SignerProvider
beforeEach(async () => {
  double = await startKmsDouble()
  provider = await kmsProvider(double, { replicas })
})
afterEach(async () => {
  await provider[Symbol.asyncDispose]()
  await double[Symbol.asyncDispose]()
})

const create = () => provider.create?.('signet-es-1', 'ES256', never, tags) ?? Promise.resolve('')
const find = async (given?: KeyTags, name = 'signet-es-1') => (await provider.find?.(name, never, given)) ?? []
const inRegion = (region: string, arn: string) => arn.replace(`:${first}:`, `:${region}:`)
const everywhere = (arn: string) =>
  [first, second, third].map((region) => ({
    ...{ arn: inRegion(region, arn), state: 'Enabled', tags: inKms, alias: 'alias/signet-es-1' },
  }))
const replicateCalls = () => double.calls.filter(({ eventName }) => eventName === 'ReplicateKey')

describe('a key of a slot with replicas', () => {
  it('has one in each region, with its tags and alias, and any process opens it and signs in each', async () => {
    const arn = await create()
    expect(double.keys()).toEqual(everywhere(arn))
    expect(replicateCalls().map(({ region }) => region)).toEqual([first, first])
    await using other = await kmsProvider(double, { replicas })
    const signer = await other.open(arn, 'ES256', never)
    for (const away of [first, second]) {
      double.fail({ fault: { error: 'KMSInternalException' }, action: 'Sign', region: away })
      expect(await signer.sign(Buffer.from('a'), never)).toHaveLength(64)
    }
    expect(double.calls.findLast(({ eventName }) => eventName === 'Sign')?.keyArn).toBe(inRegion(third, arn))
  })

  it('is found with one call, which replicates nothing before an attempt is recorded', async () => {
    const { arn } = await double.createKey('ECC_NIST_P256', { alias: 'alias/signet-es-1', multiRegion: true })
    const start = double.calls.length
    expect(await find()).toEqual([arn])
    expect(double.calls.slice(start).map(({ eventName }) => eventName)).toEqual(['DescribeKey'])
  })

  it('is not lost while KMS does not show it in any region', { timeout: 20_000 }, async () => {
    double.hideNewKeys(3)
    const arn = await create()
    expect(double.keys()).toEqual(everywhere(arn))
  })

  it('has one in a region that does not show it yet after the answer was lost', async () => {
    double.hideNewKeys(2)
    double.fail({ fault: { lost: 'reset' }, action: 'ReplicateKey', times: 1 })
    expect(await errorOf(create())).toBeInstanceOf(Unavailable)
    const [arn = ''] = await find(tags)
    expect(double.keys()).toEqual(everywhere(arn))
    expect(double.calls.map(({ errorCode }) => errorCode)).toContain('AlreadyExistsException')
  })

  it('KR08 is unavailable while a region is away, and completed when it is back', async () => {
    const lift = double.fail({ fault: { error: 'KMSInternalException' }, region: third })
    const error = await errorOf(create())
    expect(error).toBeInstanceOf(Unavailable)
    expect(error.message).toMatch(/^The key arn:\S+ was created, but not all of its replicas were\. /)
    expect(await errorOf(find(tags))).toBeInstanceOf(Unavailable)
    lift()
    const [arn = ''] = await find(tags)
    expect(double.keys()).toEqual(everywhere(arn))
  })

  it.each([
    ['AccessDeniedException', /need kms:ReplicateKey on it/],
    ['LimitExceededException', /as many keys in a region of `replicas` as its quota allows/],
  ])('without a permission or room (%s) is refused in words when it is looked for', async (name, why) => {
    double.fail({ fault: { error: name }, action: 'ReplicateKey' })
    expect(await errorOf(create())).toBeInstanceOf(Unavailable)
    const refusal = await errorOf(find(tags))
    expect(refusal).toBeInstanceOf(KeyRefused)
    expect(refusal.message).toMatch(why)
    expect(double.keys()).toHaveLength(1)
  })

  it('that was made without replicas in mind cannot have them, and is refused in words', async () => {
    await double.createKey('ECC_NIST_P256', { alias: 'alias/signet-es-1' })
    await expect(find(tags)).rejects.toThrow(/only a multi-Region key has replicas/)
  })

  it('whose alias names another key in one region is refused, and that alias stays', async () => {
    const { arn: foreign } = await double.createKey('ECC_NIST_P256', { alias: 'alias/signet-es-1', region: third })
    expect(await errorOf(create())).toBeInstanceOf(Unavailable)
    await expect(find(tags)).rejects.toThrow(`alias/signet-es-1 names the key ${foreign}, and not arn:`)
    expect(double.keys().find(({ arn }) => arn === foreign)?.alias).toBe('alias/signet-es-1')
  })

  it('is disabled and deleted in every region; each may be repeated', async () => {
    const arn = await create()
    const states = () => double.keys().map(({ state }) => state)
    for (let count = 0; count < 2; count++) await provider.removal?.disable(arn, never)
    expect(states()).toEqual(['Disabled', 'Disabled', 'Disabled'])
    for (let count = 0; count < 2; count++) await provider.removal?.destroy(arn, never)
    expect(states()).toEqual(['PendingReplicaDeletion', 'PendingDeletion', 'PendingDeletion'])
  })
})

/** A process that was killed: it has no answer and asks no more. */
const stopped: readonly [string, FaultRule][] = [
  ['before KMS replicates the key', { fault: { hang: true }, action: 'ReplicateKey', times: 1 }],
  ['after KMS has replicated the key', { fault: { lost: 'hang' }, action: 'ReplicateKey', times: 1 }],
  ['before it looks at the replica', { fault: { hang: true }, action: 'DescribeKey', region: second, times: 1 }],
  ['before the replica has its alias', { fault: { hang: true }, action: 'CreateAlias', region: second, times: 1 }],
  ['after the replica has its alias', { fault: { lost: 'hang' }, action: 'CreateAlias', region: second, times: 1 }],
  ['before the last region', { fault: { hang: true }, action: 'DescribeKey', region: third, times: 1 }],
  ['before the last alias', { fault: { hang: true }, action: 'CreateAlias', region: third, times: 1 }],
]

describe('a replication that stops', () => {
  it.each(stopped)('KR02 %s is completed by the next process, with one key in each region', async (_, rule) => {
    double.fail(rule)
    const killed = new AbortController()
    const ended = (provider.create?.('signet-es-1', 'ES256', killed.signal, tags) ?? Promise.resolve('')).catch(String)
    await expect.poll(() => double.calls.some(({ fault }) => fault !== undefined)).toBe(true)
    killed.abort()
    await ended
    await provider[Symbol.asyncDispose]()
    double.heal()

    provider = await kmsProvider(double, { replicas })
    const [arn = ''] = await find(tags)
    expect(double.keys()).toEqual(everywhere(arn))
    expect(await find(tags)).toEqual([arn])
    expect(await find(tags, arn)).toEqual([arn])
    expect((await provider.open(arn, 'ES256', never)).alg).toBe('ES256')
  })
})
