import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createExternalAccounts } from '../../core/interaction/external-accounts.js'
import { createPersonFactors } from '../../core/interaction/factors/person-factors.js'
import { newRecoveryCodes } from '../../core/interaction/factors/recovery-codes.js'
import { createRecoveryLinks } from '../../core/interaction/recovery/recovery-links.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { collectionsOf } from '../support/forge/mint.js'
import { openAccountCommands, type AccountCommands } from '../support/server/account-commands.js'
import type { CommandLine } from '../support/server/command-line.js'

let cli: CommandLine
let accounts: AccountCommands['accounts']
let opened: AccountCommands
beforeAll(async () => {
  opened = await openAccountCommands()
  ;({ cli, accounts } = opened)
})
afterAll(() => opened[Symbol.asyncDispose]())

describe('signet accounts, for people who sign in elsewhere', () => {
  const open = async () => {
    const backend = await openEmbedded({ path: join(cli.folder, 'data', 'store'), clock: Date.now })
    const { externalAccounts, personFactors } = collectionsOf(backend)
    const external = createExternalAccounts(
      externalAccounts,
      async () => false,
      () => undefined,
    )
    const factors = createPersonFactors({ store: personFactors, clock: Date.now })
    return { external, factors, [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose]() }
  }
  beforeAll(async () => {
    await using stores = await open()
    for (const [method, subject] of [
      ['corp', 'corp-2'],
      ['corp', 'corp-1'],
      ['bank', 'bank-1'],
    ] as const) {
      await stores.external.keep(method, { subject, claims: { name: `Name of ${subject}` } })
      await stores.external.name(method, `there-${subject}`, subject)
    }
    await stores.factors.putRecoveryCodes('corp-1', newRecoveryCodes())
  })

  it('lists them by method and subject, and shows one', async () => {
    const listed = JSON.parse((await accounts(['list', '--json'])).stdout) as { sub: string; source: string }[]
    expect(listed.filter(({ source }) => source === 'external').map(({ sub }) => sub)).toEqual([
      ...['bank-1', 'corp-1', 'corp-2'],
    ])
    const { stdout } = await accounts(['list', '--method', 'corp'])
    expect(stdout).toMatch(/corp-1 +external \(corp\) +active +name/)
    expect(stdout).not.toContain('bank-1')
    expect(JSON.parse((await accounts(['show', '--sub', 'corp-1', '--json'])).stdout)).toEqual({
      ...{ sub: 'corp-1', source: 'external', method: 'corp', disabled: false, claims: { name: 'Name of corp-1' } },
    })
    expect(JSON.parse((await accounts(['show', '--sub', '248289761001', '--json'])).stdout)).toMatchObject({
      ...{ username: 'alice', source: 'configuration' },
    })
    expect(await accounts(['show', '--sub', 'nobody'])).toMatchObject({ code: 1, stdout: '' })
    expect(await accounts(['show'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--sub') })
  })

  it('removes one, with its factors and names there, and no other', async () => {
    const removed = await accounts(['remove', '--sub', 'corp-1', '--json'])
    expect(JSON.parse(removed.stdout)).toEqual({ sub: 'corp-1', method: 'corp', factors: 1, state: 'removed' })
    await using stores = await open()
    expect(await stores.external.find('corp', 'corp-1')).toBeUndefined()
    expect(await stores.external.findByName('corp', 'there-corp-1')).toBeUndefined()
    expect(await stores.external.findByName('corp', 'there-corp-2')).toBe('corp-2')
    expect(await stores.factors.list('corp-1')).toEqual([])
    expect(await accounts(['remove', '--sub', 'corp-1'])).toMatchObject({ code: 1, stdout: '' })
    expect(await accounts(['remove', '--sub', '248289761001'])).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('in the configuration') },
    })
  })

  it('removes the factors of a person whose account has left the configuration', async () => {
    {
      await using stores = await open()
      await stores.factors.putRecoveryCodes('left-1', newRecoveryCodes())
    }
    expect((await accounts(['factors', '--sub', 'left-1'])).stdout).toContain('10 left')
    expect(await accounts(['remove', '--sub', 'left-1'])).toMatchObject({
      ...{ code: 0, stdout: 'Removed 1 factor of left-1\n' },
    })
    expect(JSON.parse((await accounts(['factors', '--sub', 'left-1', '--json'])).stdout)).toEqual([])
  })
})

describe('signet accounts recover', () => {
  const recover = async (...args: string[]) => {
    const { code, stdout, stderr } = await accounts(['recover', ...args, '--json'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return JSON.parse(stdout) as { sub: string; recovery: string; link: string; expires_at: string }
  }
  const find = async (link: string) => {
    await using backend = await openEmbedded({ path: join(cli.folder, 'data', 'store'), clock: Date.now })
    const { recoveryLinks: store, revocations } = collectionsOf(backend)
    const value = new URL(link).searchParams.get('link') ?? ''
    return await createRecoveryLinks({ store, revocations, clock: Date.now }).find(value)
  }

  it('prints a link once; the store has only its hash, and the audit log names the person', async () => {
    const before = Date.now()
    const { sub, recovery, link, expires_at } = await recover('Alice')
    expect({ sub, link }).toEqual({
      ...{
        sub: '248289761001',
        link: expect.stringMatching(/^http:\/\/localhost:3000\/recovery\?link=[\w-]{43}\.[\w-]{43}$/),
      },
    })
    expect(Math.abs(Date.parse(expires_at) - before - 3_600_000)).toBeLessThan(60_000)
    expect(await find(link)).toMatchObject({ outcome: 'good', link: { subject: sub, id: recovery, username: 'alice' } })
    const [, secret = ''] = link.split('.').slice(-2)
    const files = await readdir(join(cli.folder, 'data'), { recursive: true, withFileTypes: true })
    for (const file of files.filter((one) => one.isFile()))
      expect((await readFile(join(file.parentPath, file.name))).includes(secret)).toBe(false)
    const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
    expect(audit).toContain(
      `"event":"administration","action":"account.recover","username":"Alice","recovery":"${recovery}"`,
    )
    expect((await accounts(['recover', 'alice'])).stdout).toContain('/recovery?link=')
    // That was a newer one.
    expect(await find(link)).toMatchObject({ outcome: 'refused' })
  })

  it('accepts a subject, and reports when it has no account', async () => {
    expect(await find((await recover('--sub', 'corp-2')).link)).toMatchObject({ outcome: 'good' })
    expect(await accounts(['recover', '--sub', 'nobody'])).toMatchObject({
      ...{ code: 0, stderr: expect.stringContaining('warning: no account here has this subject') },
    })
  })

  it('issues none for an unknown or disabled account, or for more than a day', async () => {
    await accounts(['add', 'dora', '--password-stdin', '--sub', 'sub-dora'], 'correct horse')
    const { link } = await recover('dora')
    expect(await find(link)).toMatchObject({ outcome: 'good' })
    await accounts(['disable', 'dora'])
    expect(await find(link)).toMatchObject({ outcome: 'refused' })
    expect(await accounts(['recover', 'dora'])).toMatchObject({ code: 1, stderr: expect.stringContaining('disabled') })
    await accounts(['enable', 'dora'])
    expect(await find(link)).toMatchObject({ outcome: 'refused' })
    expect(await find((await recover('dora')).link)).toMatchObject({ outcome: 'good' })
    expect(await accounts(['recover', 'mallory'])).toMatchObject({ code: 1, stdout: '' })
    expect(await accounts(['recover', 'alice', '--expires-in', '25h'])).toMatchObject({ code: 2, stdout: '' })
    expect(await accounts(['recover', 'alice', '--sub', 'sub-dora'])).toMatchObject({ code: 2, stdout: '' })
  })
})
