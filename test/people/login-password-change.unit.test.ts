import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Contributions, PasswordHasher, PluginModule, Services, SignInResult } from '../../core/api/index.js'
import {
  addAccount,
  createAccountDirectory,
  openAccountStore,
  removeAccount,
  setDisabled,
} from '../../core/interaction/accounts.js'
import { staticAccounts } from '../../core/interaction/configured-accounts.js'
import { createPasswordHasher } from '../../core/interaction/password-hasher.js'
import { said } from '../../core/oauth/said.js'
import { createAttemptLimiter } from '../../core/storage/attempts.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { Unavailable } from '../../core/unavailable.js'
import { finishPassword } from '../support/server/password-double.js'
import plugin from '../../plugins/login/password/index.js'

const address = '192.0.2.1'
const signal = new AbortController().signal
const hasher = createPasswordHasher()
const bob = { username: 'bob', password: 'the builder', sub: 'sub-bob' }
const carol = { username: 'carol', password: 'the singer', sub: 'sub-carol', disabled: true }
const alice = { username: 'alice', password: 'correct horse', sub: 'sub-alice' }

let folder: string
let backend: StorageBackend
let now = Date.UTC(2026, 10, 20)
let login: Contributions
/** How often a password was verified. */
let verified = 0

const counting: PasswordHasher = {
  isOwn: () => true,
  hash: (password) => hasher.hash(password),
  verify: (password, hash) => {
    verified++
    return hasher.verify(password, hash)
  },
}

const createLogin = async (passwords: PasswordHasher): Promise<Contributions> => {
  const module = plugin as PluginModule<unknown, 'accounts' | 'passwords' | 'attempts'>
  const checked = await module.options?.['~standard'].validate(undefined)
  if (!checked || checked.issues) throw new Error('no options')
  const services: Pick<Services, 'accounts' | 'passwords' | 'attempts'> = {
    accounts: createAccountDirectory({
      static: await staticAccounts([alice], hasher),
      store: openAccountStore(backend),
    }),
    passwords,
    attempts: createAttemptLimiter(backend.counters('counters')),
  }
  return module.create(checked.value, services)
}

const attempt = (username: string, password: string): Promise<SignInResult> =>
  finishPassword(login, { username, password }, address)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-login-'))
  backend = await openEmbedded({ path: folder, clock: () => now })
  for (const account of [bob, carol]) await addAccount(openAccountStore(backend), hasher, account)
})

beforeEach(async () => {
  // Everything that an earlier test counted is forgotten.
  now += 2 * 86_400_000
  verified = 0
  login = await createLogin(counting)
})

afterAll(async () => {
  await backend[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

describe('changePassword', () => {
  const next = 'the next password of Bob'
  const ask = (current: string, to = next, subject = 'sub-bob') => {
    if (login.passwordChange === undefined) throw new Error('no change')
    return login.passwordChange({ subject, current, next: to }, { address }, signal)
  }

  it('changes nothing before it is applied, and is applied once', async () => {
    const [one, two] = [await ask('the builder'), await ask('the builder', 'another one of Bob')]
    if (one.outcome !== 'allowed' || two.outcome !== 'allowed') throw new Error('refused')
    expect(await attempt('bob', 'the builder')).toMatchObject({ outcome: 'passed' })
    expect(await Promise.all([one.apply(), two.apply()])).toEqual([true, false])
    expect(await attempt('bob', next)).toMatchObject({ outcome: 'passed' })
    expect(await attempt('bob', 'the builder')).toMatchObject({ outcome: 'refused' })
    const back = await ask(next, 'the builder')
    expect(back.outcome === 'allowed' && (await back.apply())).toBe(true)
  })

  it('verifies a password once, and none while guesses are delayed', async () => {
    for (let time = 0; time < 3; time++) expect(await ask('wrong')).toEqual({ outcome: 'refused' })
    for (let time = 0; time < 3; time++) expect(await attempt('bob', 'wrong')).toMatchObject({ outcome: 'refused' })
    expect(verified).toBe(6)
    expect(await ask('the builder')).toEqual({ outcome: 'locked', retryAfterSeconds: 1 })
    expect(verified).toBe(6)
    now += 1000
    expect(await ask('the builder')).toMatchObject({ outcome: 'allowed' })
    expect(await ask('wrong')).toEqual({ outcome: 'refused' })
  })

  it('explains what is wrong with a new password only to a caller that knows the current one', async () => {
    expect(await ask('wrong', 'short')).toEqual({ outcome: 'refused' })
    expect(await ask('the builder', 'short')).toEqual({
      outcome: 'unacceptable',
      fault: { said: said('password_short'), text: 'must have at least 8 characters' },
    })
  })

  it('gives an account of the configuration, one that is disabled and one that has gone none', async () => {
    const fixed = await ask('correct horse', next, 'sub-alice')
    expect(fixed.outcome === 'allowed' && (await fixed.apply())).toBe(false)
    expect(await ask('the singer', next, 'sub-carol')).toEqual({ outcome: 'refused' })
    expect(await ask('the singer', next, 'sub-nobody')).toEqual({ outcome: 'refused' })
  })

  it('gives one that is disabled or removed meanwhile none, and does not undo that', async () => {
    const store = openAccountStore(backend)
    const dora = { username: 'dora', password: 'the explorer', sub: 'sub-dora' }
    const end = () => Promise.resolve()
    await addAccount(store, hasher, dora)
    for (const stop of [
      () => setDisabled(store, { username: 'dora', disabled: true }, end),
      () => removeAccount(store, 'dora', end),
    ]) {
      await setDisabled(store, { username: 'dora', disabled: false }, end)
      const allowed = await ask('the explorer', next, 'sub-dora')
      await stop()
      expect(allowed.outcome === 'allowed' && (await allowed.apply())).toBe(false)
      expect(await attempt('dora', next)).toMatchObject({ outcome: 'refused' })
    }
  })

  it('is an outage while too many passwords are queued', async () => {
    const busy = async (): Promise<never> => {
      throw new Unavailable('passwords', 'no', 'Too many passwords are waiting to be checked.')
    }
    for (const passwords of [
      { ...counting, verify: busy },
      { ...counting, hash: busy },
    ]) {
      login = await createLogin(passwords)
      await expect(ask('the builder')).rejects.toThrow(Unavailable)
    }
  })
})
