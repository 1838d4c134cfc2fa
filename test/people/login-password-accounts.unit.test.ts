import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  addAccount,
  createAccountDirectory,
  listAccounts,
  openAccountStore,
  removeAccount,
  type AccountStore,
} from '../../core/interaction/accounts.js'
import { staticAccounts } from '../../core/interaction/configured-accounts.js'
import { createPasswordHasher } from '../../core/interaction/password-hasher.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { Unavailable } from '../../core/unavailable.js'

const hasher = createPasswordHasher()

describe('the password hasher', () => {
  it('makes an Argon2id hash of its own each time and verifies it', async () => {
    const [one, two] = await Promise.all([hasher.hash('grün ist 5'), hasher.hash('grün ist 5')])
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(one).not.toBe(two)
    expect(await hasher.verify('grün ist 5', one)).toBe(true)
    expect(await hasher.verify('grün ist 6', one)).toBe(false)
  })

  it('accepts both Unicode forms of a password', async () => {
    const hash = await hasher.hash('grün ist 5'.normalize('NFD'))
    expect(await hasher.verify('grün ist 5'.normalize('NFC'), hash)).toBe(true)
    expect(await hasher.verify('grün\u00a0ist\u20035', hash)).toBe(true)
    expect(await hasher.verify('grun ist 5', hash)).toBe(false)
  })

  it('bounds what a password may be', async () => {
    const long = await hasher.hash('é'.repeat(512))
    expect(await hasher.verify('é'.repeat(512), long)).toBe(true)
    expect(await hasher.verify('é'.repeat(513), long)).toBe(false)
    await expect(hasher.hash('é'.repeat(513))).rejects.toThrow(RangeError)
    await expect(hasher.hash('')).rejects.toThrow(RangeError)
    expect(await hasher.verify('', long)).toBe(false)
  })

  it.each([
    undefined,
    '',
    'garbage',
    '$argon2id$v=19$m=19456,t=2,p=1$AAAA$AAAA',
    '$2b$10$abc',
    '$argon2id$v=19$m=99999999999,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA',
  ])('verifies no password against the hash %j', async (hash) => {
    expect(await hasher.verify('x', hash)).toBe(false)
    expect(await hasher.verify('', hash)).toBe(false)
  })

  it('refuses what waits beyond its bound, and works on', async () => {
    const small = createPasswordHasher({ concurrency: 1, maxWaiting: 2 })
    const hash = await small.hash('right')
    const results = await Promise.allSettled([
      small.verify('right', hash),
      small.verify('wrong', undefined),
      small.verify('right', hash),
      small.verify('right', hash),
      small.verify('right', undefined),
    ])
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.constructor))).toEqual(
      [true, false, true, Unavailable, Unavailable],
    )
    expect(await small.verify('right', hash)).toBe(true)
  })
})

describe('passwords that wait', () => {
  it('take turns by address, and the one who has the most places gives one up', async () => {
    const small = createPasswordHasher({ concurrency: 1, maxWaiting: 4 })
    const hash = await small.hash('right')
    const order: string[] = []
    const verify = async (name: string, address: string) => {
      try {
        expect(await small.verify('right', hash, address)).toBe(true)
        order.push(name)
      } catch (error) {
        expect(error).toBeInstanceOf(Unavailable)
        order.push(`no ${name}`)
      }
    }
    // Of one subscriber, in five places of a /64.
    const greedy = [1, 2, 3, 4, 5].map((n) => verify(`greedy${String(n)}`, `2001:db8::${String(n)}`))
    await Promise.all([...greedy, verify('modest', '2001:db8:0:1::1'), small.verify('right', hash)])
    expect(order).toEqual(['no greedy5', 'no greedy4', 'greedy1', 'greedy2', 'modest', 'greedy3'])
  })
})

describe('accounts in the store', () => {
  let folder: string
  let backend: StorageBackend
  let store: AccountStore

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'signet-accounts-'))
    backend = await openEmbedded({ path: folder, clock: Date.now })
    store = openAccountStore(backend)
  })

  afterAll(async () => {
    await backend[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  const add = (username: string, sub?: string) =>
    addAccount(store, hasher, { username, password: 'secret of one', ...(sub === undefined ? {} : { sub }) })
  const directory = () => createAccountDirectory({ static: [], store })
  const ended: string[] = []
  const end = async (subject: string) => void ended.push(subject)

  it('are found by username and by subject until they are removed', async () => {
    const added = await add(' Édith ')
    if (added.outcome !== 'added') throw new Error(added.outcome)
    expect(added.account.username).toBe('Édith')
    expect(added.account.sub).toMatch(/^[\w-]{36}$/)
    expect(JSON.stringify(added.account)).not.toContain('secret')
    expect(await directory().findByUsername('e\u0301DITH')).toEqual(added.account)
    expect(await directory().findBySubject(added.account.sub)).toEqual(added.account)
    expect(await removeAccount(store, 'ÉDITH', end)).toMatchObject({ username: 'Édith' })
    expect(await directory().findByUsername('édith')).toBeUndefined()
    expect(await directory().findBySubject(added.account.sub)).toBeUndefined()
    expect(await removeAccount(store, 'édith', end)).toBeUndefined()
    expect(ended).toEqual([added.account.sub])
  })

  it('have one username and one subject each, also when they are added at once', async () => {
    const byUsername = await Promise.all(Array.from({ length: 8 }, () => add('Frank')))
    expect(byUsername.filter(({ outcome }) => outcome === 'added')).toHaveLength(1)
    expect(byUsername).toContainEqual({ outcome: 'username_taken' })
    const bySubject = await Promise.all(Array.from({ length: 8 }, (_, index) => add(`grace-${index}`, 'sub-grace')))
    expect(bySubject.filter(({ outcome }) => outcome === 'added')).toHaveLength(1)
    expect(bySubject).toContainEqual({ outcome: 'subject_taken' })
  })

  it('free the subject when the username is taken', async () => {
    expect(await add('heidi', 'sub-heidi')).toMatchObject({ outcome: 'added' })
    expect(await add('HEIDI', 'sub-other')).toEqual({ outcome: 'username_taken' })
    expect(await add('ivan', 'sub-other')).toMatchObject({ outcome: 'added' })
  })

  it.each([
    ['', undefined],
    ['a\0b', undefined],
    ['x'.repeat(257), undefined],
    ['judy', ''],
    ['judy', 'süb'],
    ['judy', 'x'.repeat(256)],
    ['judy', 'two words'],
  ])('are not called %j with subject %j', async (username, sub) => {
    expect(await add(username, sub)).toMatchObject({ outcome: 'invalid' })
  })

  it('are nobody when a removal or an addition stopped half-way, and can be removed then', async () => {
    const added = await add('ken', 'sub-ken')
    expect(added.outcome).toBe('added')
    await store.subjects.remove('sub-ken')
    expect(await directory().findBySubject('sub-ken')).toBeUndefined()
    expect(await removeAccount(store, 'ken', end)).toMatchObject({ sub: 'sub-ken' })
    expect(await add('ken', 'sub-ken')).toMatchObject({ outcome: 'added' })
    await store.accounts.remove('ken')
    expect(await directory().findBySubject('sub-ken')).toBeUndefined()
    expect(await add('ken', 'sub-other-ken')).toMatchObject({ outcome: 'added' })
    expect(await directory().findBySubject('sub-ken')).toBeUndefined()
  })

  it('are listed in order of username, in pages', async () => {
    for (const username of ['list-c', 'list-a', 'list-b']) await add(username)
    const first = await listAccounts(store, 'List', 2)
    expect(first.map(({ username }) => username)).toEqual(['list-a', 'list-b'])
    const second = await listAccounts(store, 'list-b', 1)
    expect(second.map(({ username }) => username)).toEqual(['list-c'])
  })

  it('cannot stand in for an account of the configuration', async () => {
    await add('mallory', 'sub-root')
    await add('root', 'sub-mallory')
    const root = { username: 'Root', password: 'configured', sub: 'sub-root' }
    const configured = await staticAccounts([root], hasher)
    const both = createAccountDirectory({ static: configured, store })
    expect(await both.findByUsername('root')).toBe(configured[0])
    expect(await both.findBySubject('sub-root')).toBe(configured[0])
    expect(await both.findByUsername('mallory')).toBeUndefined()
  })
})

describe('accounts of the configuration', () => {
  const root = { username: 'root', password: 'x', sub: 'sub-root' }

  it.each([
    ['accounts[1].username: comes twice', { ...root, username: 'ROOT', sub: 'sub-2' }],
    ['accounts[1].sub: comes twice', { ...root, username: 'two' }],
    ['accounts[1].username: not a username', { ...root, username: ' ', sub: 'sub-2' }],
    ['accounts[1].sub: a subject has 1 to 255', { ...root, username: 'two', sub: 'ä' }],
  ])('are refused: %s', async (problem, account) => {
    await expect(staticAccounts([root, account], hasher)).rejects.toThrow(problem)
  })
})
