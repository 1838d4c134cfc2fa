/** What keys of slots need of KMS: names, tags, listing, removal; and what a stop between two calls leaves. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { KeyRefused, Unavailable, type KeyTags, type SignerProvider } from '../../core/api/signer.js'
import { doubleRegion, startKmsDouble, type FaultRule, type KmsDouble } from '../../core/testing/kms-double/index.js'
import { errorOf, kmsProvider, never } from '../support/signers/aws-kms-provider.js'

const tags: KeyTags = { deployment: 'https://id.example/~täst@1', slot: 'es', kid: 'es-1' }
const inKms = {
  'signet:deployment': 'https://id.example/@7et@c3@a4st@401',
  'signet:slot': 'es',
  'signet:kid': 'es-1',
}

let double: KmsDouble
let provider: SignerProvider
beforeEach(async () => {
  double = await startKmsDouble({ pageSize: 2 })
  provider = await kmsProvider(double)
})
afterEach(async () => {
  await provider[Symbol.asyncDispose]()
  await double[Symbol.asyncDispose]()
})

const create = (given: KeyTags | undefined = tags) =>
  provider.create?.('signet-es-1', 'ES256', never, given) ?? Promise.resolve('')
const find = async (given?: KeyTags, name = 'signet-es-1') => (await provider.find?.(name, never, given)) ?? []
const eventsFrom = (start: number) => double.calls.slice(start).map(({ eventName }) => eventName)

describe('a key of a slot in KMS', () => {
  it('has its tags from its creation, and its alias, and is found by it with one call', async () => {
    const arn = await create()
    expect(double.keys()).toEqual([{ arn, state: 'Enabled', tags: inKms, alias: 'alias/signet-es-1' }])
    expect(double.calls.find(({ eventName }) => eventName === 'CreateKey')?.body['Tags']).toHaveLength(3)
    const start = double.calls.length
    expect(await find(tags)).toEqual([arn])
    expect(eventsFrom(start)).toEqual(['DescribeKey'])
    expect(await find(undefined, arn)).toEqual([arn])
  })

  it('is not found before it is made, and without tags no other key is looked at', async () => {
    await double.createKey('ECC_NIST_P256')
    const start = double.calls.length
    expect(await find()).toEqual([])
    expect(eventsFrom(start)).toEqual(['DescribeKey'])
    expect(await find(tags)).toEqual([])
  })

  it('without an alias is found by its tags among several pages of keys, and gets it', async () => {
    for (let count = 0; count < 5; count++) await double.createKey('ECC_NIST_P256')
    const lift = double.fail({ fault: { error: 'KMSInternalException' }, action: 'CreateAlias' })
    const error = await errorOf(create())
    expect(error).toBeInstanceOf(Unavailable)
    lift()
    const found = await find(tags)
    expect(found).toHaveLength(1)
    expect(error.message).toContain(found[0])
    expect(double.keys().filter(({ alias }) => alias === 'alias/signet-es-1')).toMatchObject([{ arn: found[0] }])
    expect(await find()).toEqual(found)
    expect((await provider.open(found[0] ?? '', 'ES256', never)).alg).toBe('ES256')
  })

  it('of another slot, deployment or number is not found', async () => {
    for (const other of [{ kid: 'es-2' }, { slot: 'rs' }, { deployment: 'https://other.example' }]) {
      const lift = double.fail({ fault: { error: 'KMSInternalException' }, action: 'CreateAlias' })
      await errorOf(create({ ...tags, ...other }))
      lift()
    }
    expect(await find(tags)).toEqual([])
  })

  it.each(['Disabled', 'PendingDeletion'] as const)('that is %s is not found by its tags', async (state) => {
    double.fail({ fault: { error: 'KMSInternalException' }, action: 'CreateAlias' })
    await errorOf(create())
    double.setState(double.keys()[0]?.arn ?? '', state)
    expect(await find(tags)).toEqual([])
  })

  it('whose alias names a key that is disabled is refused in words', async () => {
    double.setState(await create(), 'Disabled')
    const error = await errorOf(find(tags))
    expect(error).toBeInstanceOf(KeyRefused)
    expect(error.message).toMatch(/^alias\/signet-es-1 names the key arn:\S+, which is Disabled: bring it back/)
  })

  it('is not lost while KMS does not show it: its alias, its opening and its signatures wait', async () => {
    double.hideNewKeys(3)
    const arn = await create()
    expect(double.keys()).toMatchObject([{ arn, alias: 'alias/signet-es-1' }])
    double.hideNewKeys(2)
    const second = (await provider.create?.('signet-es-2', 'ES256', never, { ...tags, kid: 'es-2' })) ?? ''
    const signer = await provider.open(second, 'ES256', never)
    const lift = double.fail({ fault: { error: 'NotFoundException' }, action: 'Sign', times: 2 })
    expect(await signer.sign(Buffer.from('a'), never)).toHaveLength(64)
    lift()
  })

  it('that KMS does not show for long is unavailable, not refused', { timeout: 20_000 }, async () => {
    double.fail({ fault: { error: 'NotFoundException' }, action: 'CreateAlias' })
    const error = await errorOf(create())
    expect(error).toBeInstanceOf(Unavailable)
    expect(error.message).toMatch(
      /The key arn:\S+ was created, but its alias was not\. .* does not show the new key yet/,
    )
  })

  it('is listed by its deployment, with name and state; other keys are not', async () => {
    const arn = await create()
    await create({ ...tags, kid: 'es-2' }).catch(() => undefined)
    const second = (await provider.create?.('signet-es-2', 'ES256', never, { ...tags, kid: 'es-2' })) ?? ''
    await provider.create?.('other', 'ES256', never, { ...tags, deployment: 'https://other.example' })
    await double.createKey('ECC_NIST_P256', { alias: 'alias/signet-es-7' })
    double.setState(second, 'PendingDeletion')
    const listed = (await provider.list?.('signet-', tags.deployment, never)) ?? []
    expect(listed.toSorted((a, b) => String(a.name).localeCompare(String(b.name)))).toEqual([
      { ref: arn, name: 'signet-es-1', tags, disabled: false },
      { ref: second, name: 'signet-es-2', tags: { ...tags, kid: 'es-2' }, disabled: true },
    ])
  })

  it('is in a region at an endpoint, which the provider names', async () => {
    expect(await provider.facts?.(never)).toEqual({ service: { region: doubleRegion, endpoint: double.endpoint } })
  })

  it('says where it was made; imported material is refused', async () => {
    const arn = await create()
    expect(await provider.inspect?.(arn, never)).toEqual({
      ...{
        key: arn,
        account: arn.split(':')[4],
        origin: 'AWS_KMS',
        key_spec: 'ECC_NIST_P256',
        key_usage: 'SIGN_VERIFY',
        multi_region: false,
      },
    })
    const { arn: imported } = await double.createKey('ECC_NIST_P256', { origin: 'EXTERNAL' })
    await expect(provider.inspect?.(imported, never)).rejects.toThrow(/origin EXTERNAL: it was not made in KMS/)
    await expect(provider.inspect?.(imported, never)).rejects.toBeInstanceOf(KeyRefused)
  })

  it('is disabled, then deleted after 30 days; each may be repeated', async () => {
    const arn = await create()
    for (let count = 0; count < 2; count++) await provider.removal?.disable(arn, never)
    expect(double.keys()).toMatchObject([{ state: 'Disabled' }])
    for (let count = 0; count < 2; count++) await provider.removal?.destroy(arn, never)
    await provider.removal?.disable(arn, never)
    expect(double.keys()).toMatchObject([{ state: 'PendingDeletion' }])
    const gone = arn.replace(/[0-9a-f-]{36}$/, '00000000-0000-0000-0000-000000000000')
    await provider.removal?.destroy(gone, never)
    double.fail({ fault: { error: 'KMSInvalidStateException' }, action: 'DisableKey' })
    const { arn: other } = await double.createKey('ECC_NIST_P256')
    await expect(provider.removal?.disable(other, never)).rejects.toBeInstanceOf(KeyRefused)
  })

  it('with a deployment whose name is too long for a tag is found all the same, and no other is', async () => {
    const long = { ...tags, deployment: `https://id.example/${'ä'.repeat(200)}` }
    double.fail({ fault: { error: 'KMSInternalException' }, action: 'CreateAlias', times: 1 })
    await errorOf(create(long))
    expect(await find({ ...long, deployment: `${long.deployment}b` })).toEqual([])
    expect(await find(long)).toHaveLength(1)
  })
})

describe('what KMS refuses about a new key', () => {
  const tagging = 'User: arn:aws:iam::111122223333:user/a is not authorized to perform: kms:TagResource on resource: *'
  it.each([
    ['TagException', undefined, 'CreateKey', /does not accept the tags: does a tag policy/],
    ['AccessDeniedException', tagging, 'CreateKey', /need kms:TagResource on it/],
    ['AccessDeniedException', undefined, 'CreateKey', /need kms:CreateKey on it/],
    ['LimitExceededException', undefined, 'CreateKey', /as many keys in this region as its quota allows/],
  ])('%s (%s): refused, and nothing is there', async (error, message, action, why) => {
    const rule: FaultRule = { fault: { error, ...(message !== undefined && { message }) }, action }
    double.fail(rule)
    const refusal = await errorOf(create())
    expect(refusal).toBeInstanceOf(KeyRefused)
    expect(refusal.message).toMatch(why)
    expect(double.keys()).toEqual([])
  })

  it('the quota of aliases: the key is there, so this is no refusal until it is looked for', async () => {
    double.fail({ fault: { error: 'LimitExceededException' }, action: 'CreateAlias' })
    const error = await errorOf(create())
    expect(error).toBeInstanceOf(Unavailable)
    expect(error.message).toMatch(/as many aliases as its quota allows/)
    const again = await errorOf(find(tags))
    expect(again).toBeInstanceOf(KeyRefused)
    expect(again.message).toMatch(/as many aliases as its quota allows/)
    expect(double.keys()).toHaveLength(1)
  })

  it('reading the tags of any key: refused, so that no second key is made; of some: these are not ours', async () => {
    double.fail({ fault: { error: 'KMSInternalException' }, action: 'CreateAlias', times: 1 })
    await errorOf(create())
    const { arn: foreign } = await double.createKey('ECC_NIST_P256')
    const lift = double.fail({ fault: { error: 'AccessDeniedException' }, action: 'ListResourceTags' })
    const error = await errorOf(find(tags))
    expect(error).toBeInstanceOf(KeyRefused)
    expect(error.message).toMatch(/need kms:ListResourceTags/)
    lift()
    double.fail({ fault: { error: 'AccessDeniedException' }, action: 'ListResourceTags', keyArn: foreign })
    expect(await find(tags)).toHaveLength(1)
  })

  it('too many requests: nothing was done, so it is repeated and makes one key', async () => {
    double.fail({ fault: { error: 'ThrottlingException' }, action: 'CreateKey', times: 2 })
    await create()
    expect(double.keys()).toHaveLength(1)
    expect(double.calls.filter(({ eventName }) => eventName === 'CreateKey')).toHaveLength(3)
  })
})

/** A process that was killed: it has no answer and asks no more. */
const stopped: readonly [string, FaultRule, 0 | 1][] = [
  ['before it looks for the alias', { fault: { hang: true }, action: 'DescribeKey', times: 1 }, 0],
  ['before KMS makes the key', { fault: { hang: true }, action: 'CreateKey', times: 1 }, 0],
  ['after KMS has made the key', { fault: { lost: 'hang' }, action: 'CreateKey', times: 1 }, 1],
  ['before KMS makes the alias', { fault: { hang: true }, action: 'CreateAlias', times: 1 }, 1],
  ['after KMS has made the alias', { fault: { lost: 'hang' }, action: 'CreateAlias', times: 1 }, 1],
]

describe('a creation that stops', () => {
  it.each(stopped)('KR02 %s leaves at most one key, which the next process finds', async (_, rule, left) => {
    double.fail(rule)
    const killed = new AbortController()
    const ended = (provider.create?.('signet-es-1', 'ES256', killed.signal, tags) ?? Promise.resolve('')).catch(String)
    await expect
      .poll(() => double.calls.some(({ fault, eventName }) => fault !== undefined && eventName === rule.action))
      .toBe(true)
    await expect.poll(() => double.keys()).toHaveLength(left)
    killed.abort()
    await provider[Symbol.asyncDispose]()
    double.heal()

    provider = await kmsProvider(double)
    const [found] = await find(tags)
    const arn = found ?? (await create())
    expect(double.keys()).toEqual([{ arn, state: 'Enabled', tags: inKms, alias: 'alias/signet-es-1' }])
    expect(await find(tags)).toEqual([arn])
    expect(await ended).not.toBe(arn)
  })

  it('with its answer lost makes no second key', async () => {
    double.fail({ fault: { lost: 'reset' }, action: 'CreateKey', times: 1 })
    expect(await errorOf(create())).toBeInstanceOf(Unavailable)
    expect(await find(tags)).toEqual([double.keys()[0]?.arn])
    expect(double.keys()).toHaveLength(1)
  })
})
