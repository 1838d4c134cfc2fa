import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Contributions, PasswordHasher, PluginModule, Services, SignInResult } from '../../core/api/index.js'
import { addAccount, createAccountDirectory, openAccountStore } from '../../core/interaction/accounts.js'
import { staticAccounts } from '../../core/interaction/configured-accounts.js'
import { createPasswordHasher } from '../../core/interaction/password-hasher.js'
import { createAttemptLimiter } from '../../core/storage/attempts.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { finishPassword } from '../support/server/password-double.js'
import plugin from '../../plugins/login/password/index.js'
import { addressBucket } from '../../core/address-bucket.js'

const address = '192.0.2.1'
const signal = new AbortController().signal
const hasher = createPasswordHasher()

let folder: string
let backend: StorageBackend
let now = Date.UTC(2026, 10, 20)
let login: Contributions
/** Whether each password that came to be verified had a hash to be verified with. */
let verified: boolean[] = []

const counting: PasswordHasher = {
  isOwn: () => true,
  hash: (password) => hasher.hash(password),
  verify: (password, hash, from) => {
    verified.push(hash !== undefined)
    return hasher.verify(password, hash, from)
  },
}

type Used = Pick<Services, 'accounts' | 'passwords' | 'attempts'>
let services: Used

const createLogin = async (options: unknown, services: Used) => {
  const module = plugin as PluginModule<unknown, 'accounts' | 'passwords' | 'attempts'>
  const checked = await module.options?.['~standard'].validate(options)
  if (!checked || checked.issues) throw new Error(JSON.stringify(checked?.issues))
  return module.create(checked.value, services)
}

const attempt = (username: string, password: string, from = address): Promise<SignInResult> =>
  finishPassword(login, { username, password }, from)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-login-'))
  backend = await openEmbedded({ path: folder, clock: () => now })
  const store = openAccountStore(backend)
  await addAccount(store, hasher, { username: 'bob', password: 'the builder', sub: 'sub-bob', claims: { name: 'Bob' } })
  await addAccount(store, hasher, { username: 'carol', password: 'the singer', sub: 'sub-carol', disabled: true })
})

beforeEach(async () => {
  // Everything that an earlier test counted is forgotten.
  now += 2 * 86_400_000
  verified = []
  const alice = { username: 'Alice', password: 'correct horse', sub: 'sub-alice', claims: { name: 'Alice Adams' } }
  services = {
    accounts: createAccountDirectory({
      static: await staticAccounts([alice], hasher),
      store: openAccountStore(backend),
    }),
    passwords: counting,
    attempts: createAttemptLimiter(backend.counters('counters')),
  }
  login = await createLogin(undefined, services)
})

afterAll(async () => {
  await backend[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

/** Which account it was is for the audit log. */
const refused = (username: string) => {
  const subjects = new Map([
    ['bob', 'sub-bob'],
    ['carol', 'sub-carol'],
  ])
  return { outcome: 'refused', subject: subjects.get(username) }
}

describe('an address that guesses at many names at once', () => {
  it('fills its own places: the sign-in of another address passes meanwhile', async () => {
    const settled: string[] = []
    const note = (name: string) => (outcome: string) => void settled.push(`${name} ${outcome}`)
    // Two are hashed and 64 wait: of the rest, none gets a place.
    const guesses = Array.from({ length: 80 }, (_, index) =>
      attempt(`nobody-${String(index)}`, 'a guess').then(
        ({ outcome }) => note('guess')(outcome),
        () => note('guess')('unavailable'),
      ),
    )
    // All places are taken before the first hash is ready.
    await attempt('bob', 'the builder', '198.51.100.7').then(({ outcome }) => note('bob')(outcome))
    const before = settled.slice(0, settled.indexOf('bob passed'))
    expect(settled).toContain('bob passed')
    expect(before.filter((one) => one === 'guess refused').length).toBeLessThan(40)
    await Promise.all(guesses)
    expect(settled.filter((one) => one === 'guess unavailable')).toHaveLength(15)
  })
})

describe('authenticate', () => {
  it('knows the accounts of the configuration and of the store', async () => {
    expect(await attempt('Alice', 'correct horse')).toEqual({ outcome: 'passed', subject: 'sub-alice', amr: ['pwd'] })
    expect(await attempt('bob', 'the builder')).toEqual({ outcome: 'passed', subject: 'sub-bob', amr: ['pwd'] })
  })

  it.each(['alice', ' ALICE ', 'ａｌｉｃｅ'])('knows the username as %j', async (username) => {
    expect(await attempt(username, 'correct horse')).toMatchObject({ outcome: 'passed' })
  })

  it.each([
    ['a wrong password', 'bob', 'The builder'],
    ['a password with a space after it', 'bob', 'the builder '],
    ['an unknown username', 'dave', 'the builder'],
    ['a disabled account', 'carol', 'the singer'],
    ['an empty password', 'bob', ''],
    ['an empty username', '', 'the builder'],
    ['a password of a million characters', 'bob', 'x'.repeat(1_000_000)],
    ['a username of a million characters', 'x'.repeat(1_000_000), 'the builder'],
    ['a username with NUL', 'bob\0', 'the builder'],
    ['a lone surrogate', '\ud800', '\ud800'],
    ['a name of Object.prototype', '__proto__', 'x'],
  ])('SI74 answers %s alike, after verifying a password', async (_, username, password) => {
    expect(await attempt(username, password)).toEqual(refused(username))
    expect(verified).toHaveLength(1)
  })
})

describe('guesses', () => {
  const wrong = async (times: number, username = 'bob'): Promise<void> => {
    for (let time = 0; time < times; time++) {
      expect(await attempt(username, 'wrong')).toEqual(refused(username))
    }
  }

  it('are delayed longer and longer, up to the maximum', async () => {
    await wrong(6)
    const delays: number[] = []
    for (let time = 0; time < 12; time++) {
      const result = await attempt('bob', 'the builder')
      if (result.outcome !== 'locked') throw new Error(result.outcome)
      delays.push(result.retryAfterSeconds)
      now += result.retryAfterSeconds * 1000
      await wrong(1)
    }
    expect(delays).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900])
  })

  it('are refused without a look at the password while locked, the right one too', async () => {
    await wrong(6)
    verified = []
    expect(await attempt('bob', 'the builder')).toEqual({ outcome: 'locked', retryAfterSeconds: 1 })
    expect(await attempt('BOB ', 'the builder')).toEqual({ outcome: 'locked', retryAfterSeconds: 1 })
    expect(verified).toEqual([])
    expect(await attempt('alice', 'correct horse')).toMatchObject({ outcome: 'passed' })
  })

  it('lock an unknown username in the same way', async () => {
    await wrong(6, 'dave')
    expect(await attempt(' DAVE', 'wrong')).toEqual({ outcome: 'locked', retryAfterSeconds: 1 })
  })

  it('are forgotten after a success, and after a day', async () => {
    await wrong(5)
    expect(await attempt('bob', 'the builder')).toMatchObject({ outcome: 'passed' })
    await wrong(6)
    expect(await attempt('bob', 'the builder')).toMatchObject({ outcome: 'locked' })
    now += 86_400_000
    await wrong(6)
  })

  it('are counted when they arrive concurrently', async () => {
    const results = await Promise.all(Array.from({ length: 40 }, () => attempt('bob', 'wrong')))
    expect(results.filter(({ outcome }) => outcome === 'refused')).toHaveLength(6)
    expect(verified).toHaveLength(6)
    expect(results.filter(({ outcome }) => outcome === 'locked')).toHaveLength(34)
  })

  it('from one place at many usernames are slowed, whatever the address of the subscriber', async () => {
    for (let time = 0; time < 101; time++) {
      expect((await attempt(`user-${time}`, 'wrong', `2001:db8::${time.toString(16)}`)).outcome).toBe('refused')
    }
    expect(await attempt('bob', 'the builder', '2001:db8::ffff')).toEqual({ outcome: 'locked', retryAfterSeconds: 1 })
    expect(await attempt('bob', 'the builder', '2001:db8:0:1::1')).toMatchObject({ outcome: 'passed' })
  })

  it('of an address with many people: sign-ins that succeed use nothing up, and clear no guess', async () => {
    login = await createLogin({ address: { free: 5 } }, services)
    for (let time = 0; time < 7; time++) expect((await attempt('bob', 'the builder')).outcome).toBe('passed')
    for (let time = 0; time < 5; time++) expect((await attempt(`user-${time}`, 'wrong')).outcome).toBe('refused')
    expect((await attempt('bob', 'the builder')).outcome).toBe('passed')
    expect((await attempt('user', 'wrong')).outcome).toBe('refused')
    expect(await attempt('bob', 'the builder')).toEqual({ outcome: 'locked', retryAfterSeconds: 1 })
  })

  it('through a unix socket are not mixed up', async () => {
    for (let time = 0; time < 102; time++) expect((await attempt(`user-${time}`, 'wrong', '')).outcome).toBe('refused')
  })
})

describe('find', () => {
  it('gives the claims of a person for whom a token may be issued', async () => {
    expect(await login.accounts?.find('sub-alice', signal)).toEqual({
      subject: 'sub-alice',
      claims: { name: 'Alice Adams' },
      passwordFixed: true,
    })
    expect(await login.accounts?.find('sub-bob', signal)).toEqual({ subject: 'sub-bob', claims: { name: 'Bob' } })
  })

  it.each(['sub-carol', 'sub-nobody', '', 'bob', '__proto__', 'ü', 'x'.repeat(2000)])(
    'gives nobody for %j',
    async (sub) => {
      expect(await login.accounts?.find(sub, signal)).toBeUndefined()
    },
  )
})

describe('options', () => {
  it('are strict', async () => {
    const services = { accounts: {}, passwords: {}, attempts: {} } as unknown as Services
    await expect(createLogin({ free: 0 }, services)).rejects.toThrow('free')
    await expect(createLogin({ max_delay: 5 }, services)).rejects.toThrow('max_delay')
    await expect(createLogin({ address: { free: 1.5 } }, services)).rejects.toThrow('address')
    await expect(createLogin({ free: 3, address: { free: 10 } }, services)).resolves.toBeDefined()
  })
})

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:DB8:0:1:2:3:4:5', '2001:db8:0:1'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['2001:db8:0000:0000:ffff::', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::ffff:c633:6407', '198.51.100.7'],
  ['0:0:0:0:0:FFFF:C633:6407', '198.51.100.7'],
  ['::ffff:0:c633:6407', '0:0:0:0'],
  ['::198.51.100.7', '0:0:0:0'],
  ['64:ff9b::192.0.2.1', '192.0.2.1'],
  ['64:ff9b::c000:201', '192.0.2.1'],
  ['0064:FF9B:0:0:0:0:c000:0201', '192.0.2.1'],
  ['64:ff9b:0:0:1::c000:201', '64:ff9b:0:0'],
  ['64:ff9b:1::192.0.2.1', '64:ff9b:1:0:0:0:c000:201'],
  ['64:ff9b:1:c000:2:100::', '64:ff9b:1:c000:2:100:0:0'],
  ['64:ff9b:1:abcd:c0:2:100::', '64:ff9b:1:abcd:c0:2:100:0'],
  ['64:ff9b:2::1', '64:ff9b:2:0'],
  ['::', '0:0:0:0'],
  ['', undefined],
  ['/run/socket', undefined],
])('HX08 counts %s under %s', (from, bucket) => {
  expect(addressBucket(from)).toBe(bucket)
})
