import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { collections } from '../../core/collections/collections.js'
import type { Passkey } from '../../core/interaction/factors/person-factor.js'
import {
  createPersonFactors,
  factorId,
  maxPasskeys,
  userHandleOf,
  type PersonFactors,
} from '../../core/interaction/factors/person-factors.js'
import { newRecoveryCodes } from '../../core/interaction/factors/recovery-codes.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { StorageBackend } from '../../core/storage/ports.js'

let folder: string
let backend: StorageBackend
let factors: PersonFactors
const now = 1_800_000_000

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-factors-'))
  const clock = () => now * 1000
  backend = await openEmbedded({ path: folder, clock })
  const { personFactors: store } = collections({ records: backend, ephemeral: backend } as never)
  factors = createPersonFactors({ store, clock })
})
afterAll(async () => {
  await backend[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

const passkey = (credentialId: string, counter = 0): Passkey => ({
  ...{ kind: 'passkey', credentialId, publicKey: 'cHVibGlj', counter, name: 'Phone', createdAt: now },
  ...{ backupEligible: false, backedUp: false, transports: ['internal'] },
})

describe('factors of a person', () => {
  it('SI50 finds a passkey by its own person alone', async () => {
    expect(await factors.addPasskey('alice', passkey('credential-1'))).toBe('added')
    expect(await factors.addPasskey('alice', passkey('credential-1'))).toBe('known')
    const found = await factors.findPasskey({ userHandle: userHandleOf('alice') }, 'credential-1')
    expect(found).toMatchObject({ subject: 'alice', credentialId: 'credential-1' })
    expect(await factors.findPasskey({ subject: 'alice' }, 'credential-1')).toEqual(found)
    expect(await factors.findPasskey({ subject: 'bob' }, 'credential-1')).toBeUndefined()
    expect(await factors.findPasskey({ userHandle: `${userHandleOf('alice')}.` }, 'credential-1')).toBeUndefined()
    expect(await factors.findPasskey({ userHandle: userHandleOf('alice') }, 'credential-2')).toBeUndefined()
  })

  it('SI51 takes a counter that goes up, or none at all, and no other', async () => {
    await factors.addPasskey('carol', passkey('counts', 5))
    const use = (counter: number, id = 'counts') => factors.usePasskey('carol', id, { counter, backedUp: true })
    expect([await use(5), await use(4), await use(0), await use(6), await use(6)]).toEqual([
      ...[false, false, false, true, false],
    ])
    expect(await factors.findPasskey({ subject: 'carol' }, 'counts')).toMatchObject({
      ...{ counter: 6, backedUp: true, lastUsedAt: now },
    })
    await factors.addPasskey('carol', passkey('has-none'))
    expect([await use(0, 'has-none'), await use(0, 'has-none'), await use(0, 'gone')]).toEqual([true, true, false])
  })

  it('SI52 lets a recovery code pass once, of its person alone', async () => {
    const codes = newRecoveryCodes()
    expect(new Set(codes).size).toBe(10)
    await factors.putRecoveryCodes('dave', codes)
    const [first = '', second = ''] = codes
    expect(await factors.useRecoveryCode('erin', first)).toBe(false)
    await factors.putRecoveryCodes('erin', newRecoveryCodes())
    expect(await factors.useRecoveryCode('erin', first)).toBe(false)
    const typed = ` ${first.replaceAll('-', ' ').toUpperCase()}`
    const passed = await Promise.all([first, typed, first].map((code) => factors.useRecoveryCode('dave', code)))
    expect(passed.filter(Boolean)).toHaveLength(1)
    await factors.putRecoveryCodes('dave', newRecoveryCodes())
    expect(await factors.useRecoveryCode('dave', second)).toBe(false)
    const stored = JSON.stringify(await factors.list('erin'))
    for (const code of codes) expect(stored).not.toContain(code)
  })

  it('SI53 uses each step of a one-time password once, and none of a secret that was replaced', async () => {
    const totp = { kind: 'totp', algorithm: 'SHA1', digits: 6, sealed: 'one', lastStep: -1, createdAt: now } as const
    await factors.putTotp('frank', totp)
    const use = (step: number, sealed = 'one') => factors.useTotpStep('frank', sealed, step)
    expect(await Promise.all([use(7), use(7), use(7)])).toEqual(expect.arrayContaining([true, false, false]))
    expect([await use(7), await use(6), await use(9, 'another'), await use(8)]).toEqual([false, false, false, true])
  })

  it('keeps at most so many passkeys, names them, and removes one or all', async () => {
    for (let made = 0; made < maxPasskeys; made++)
      expect(await factors.addPasskey('grace', passkey(`key-${String(made)}`))).toBe('added')
    expect(await factors.addPasskey('grace', passkey('one-more'))).toBe('full')
    const id = factorId(passkey('key-3'))
    expect(await factors.renamePasskey('grace', id, 'Laptop')).toBe(true)
    expect(await factors.renamePasskey('alice', id, 'Laptop')).toBe(false)
    expect(await factors.remove('alice', id)).toBeUndefined()
    expect(await factors.remove('grace', '../../x')).toBeUndefined()
    expect(await factors.remove('grace', id)).toMatchObject({ name: 'Laptop' })
    expect(await factors.remove('grace', id)).toBeUndefined()
    expect(await factors.removeAll('grace')).toHaveLength(maxPasskeys - 1)
    expect(await factors.list('grace')).toEqual([])
    expect(await factors.list('carol')).toHaveLength(2)
  })

  it('are never more passkeys than there may be, however many come at once', async () => {
    for (let made = 0; made < maxPasskeys - 2; made++) await factors.addPasskey('heidi', passkey(`first-${made}`))
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, index) => factors.addPasskey('heidi', passkey(`at-once-${index}`))),
    )
    const added = outcomes.filter((outcome) => outcome === 'added').length
    expect(added).toBeLessThanOrEqual(2)
    expect(await factors.list('heidi')).toHaveLength(maxPasskeys - 2 + added)
  })
})
