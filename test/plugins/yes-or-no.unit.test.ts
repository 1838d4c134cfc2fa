import { describe, expect, it } from 'vitest'
import { joinResults } from '../../core/endpoints/interaction/complete-sign-in.js'
import type { SignInResult } from '../../core/interaction/sign-in-method.js'
import type { LoadedSigner } from '../../core/modules/load-modules.js'
import { createSignerProviders } from '../../core/modules/registries.js'
import { noLog } from '../../core/observe/log.js'
import { hasSubject, type AccountLookup } from '../../core/oauth/subjects/account.js'
import { withCheckedAnswers } from '../../core/storage/checked-answers.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { Unavailable } from '../../core/unavailable.js'

// Modules of deployers are JavaScript too: what they answer to a question of yes or no may be anything.

const neither = ['no', 'false', 1, 0, {}, [], null, undefined]
const { signal } = new AbortController()

it.each(neither)('an account lookup that answers %j has failed', async (answer) => {
  const has = hasSubject([{ find: async () => undefined, has: async () => answer } as unknown as AccountLookup])
  await expect(has('p-1', signal)).rejects.toThrow('neither true nor false')
})

it('an account lookup says whether a subject is taken', async () => {
  const lookup = (answer: boolean): AccountLookup => ({ find: async () => undefined, has: async () => answer })
  expect(await hasSubject([lookup(false), lookup(true)])('p-1', signal)).toBe(true)
  expect(await hasSubject([lookup(false)])('p-1', signal)).toBe(false)
})

it('a first method links accounts by true alone, also when a second factor follows', () => {
  type Passed = Extract<SignInResult, { outcome: 'passed' }>
  const second: Passed = { outcome: 'passed', subject: 'p-1', amr: ['otp'] }
  const joined = (linksAccount: unknown) => joinResults({ ...second, linksAccount } as Passed, second)
  expect(joined(true)).toHaveProperty('linksAccount', true)
  for (const answer of [...neither, false]) expect(joined(answer)).not.toHaveProperty('linksAccount')
})

it('a signer holds its keys in this process by true alone: signatures of others are verified', async () => {
  const inProcess = async (said: unknown) => {
    const module = {
      name: 'own',
      apiVersion: 1,
      inProcess: said,
      create: () => ({ [Symbol.asyncDispose]: async () => undefined }),
    }
    const loaded = { path: 'signers.own', module, options: undefined, mask: String } as unknown as LoadedSigner
    await using providers = await createSignerProviders(new Map([['own', loaded]]), { clock: Date.now, log: noLog })
    return [...providers.inProcess]
  }
  expect(await inProcess(true)).toEqual(['own'])
  for (const answer of [...neither, false]) expect(await inProcess(answer)).toEqual([])
})

describe('a storage adapter', () => {
  /** Its members are those of a class, as an author may write it. */
  class Backend {
    readonly #answer: unknown
    constructor(answer: unknown) {
      this.#answer = answer
    }
    #collection() {
      const say = async () => this.#answer
      return { claim: say, put: say, remove: say, isRevoked: say, start: say, find: say }
    }
    replayGuard = () => this.#collection()
    records() {
      return this.#collection()
    }
    revocations() {
      return this.#collection()
    }
    deviceCodes() {
      return this.#collection()
    }
    async describe() {
      return this.#answer
    }
  }
  const asking = (answer: unknown) => {
    const store = withCheckedAnswers(new Backend(answer) as unknown as StorageBackend, 'storage.records')
    return {
      claim: () => store.replayGuard('a').claim('a', 'b', 1),
      put: () => store.records('a').put('a', {}),
      remove: () => store.records('a').remove('a'),
      isRevoked: () => store.revocations('a').isRevoked(['a']),
      start: () => store.deviceCodes('a').start('a', { userCode: 'a', request: {}, intervalSeconds: 1 }, 1),
    }
  }

  it.each(neither)('that answers %j to a question of yes or no is unavailable', async (answer) => {
    for (const ask of Object.values(asking(answer))) await expect(ask()).rejects.toThrow(Unavailable)
  })

  it('is believed when it says true or false, and asked everything else as it is', async () => {
    for (const answer of [true, false])
      for (const ask of Object.values(asking(answer))) expect(await ask()).toBe(answer)
    const store = withCheckedAnswers(new Backend('anything') as unknown as StorageBackend, 'storage.records')
    expect(await store.describe?.()).toBe('anything')
    expect(await store.records('a').find('a')).toBe('anything')
    expect(store.warnings).toBeUndefined()
  })
})
