import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openAccountStore } from '../../core/interaction/accounts.js'
import type { Passkey } from '../../core/interaction/factors/person-factor.js'
import { createPersonFactors } from '../../core/interaction/factors/person-factors.js'
import { newRecoveryCodes } from '../../core/interaction/factors/recovery-codes.js'
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

describe('signet accounts', () => {
  it('adds an account whose password comes from standard input', async () => {
    const claims = [
      'email=bob@bank.example',
      'email_verified=true',
      'address={"country":"AT"}',
      'nickname=',
      'updated_at=2026-01-01',
    ]
    const added = await accounts(
      ['add', 'Bob', '--password-stdin', '--sub', 'sub-bob', ...claims.flatMap((claim) => ['--claim', claim])],
      'correct horse\n',
    )
    const warning = (claim: string) =>
      `warning: claim ${claim}: no scope and no rule of \`claims\` releases this claim\n`
    // The deployment has the scope `profile`, and pages show an email address.
    const wrongType = 'warning: claim updated_at: must be a number (OpenID Connect Core §5.1)\n'
    const stderr = warning('email_verified') + warning('address') + wrongType
    expect(added).toEqual({ code: 0, stdout: 'Added Bob, sub sub-bob\n', stderr })
    const { stdout } = await accounts(['list', '--json'])
    expect(JSON.parse(stdout)).toContainEqual({
      username: 'Bob',
      sub: 'sub-bob',
      source: 'store',
      disabled: false,
      claims: {
        email: 'bob@bank.example',
        email_verified: true,
        address: { country: 'AT' },
        nickname: '',
        updated_at: '2026-01-01',
      },
    })
    const files = await readdir(join(cli.folder, 'data'), { recursive: true, withFileTypes: true })
    for (const file of files.filter((one) => one.isFile())) {
      expect((await readFile(join(file.parentPath, file.name))).includes('correct horse')).toBe(false)
    }
  })

  it('lists those of the configuration and of the store', async () => {
    const { code, stdout } = await accounts(['list'])
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/))
    expect({ code, head: rows[0] }).toEqual({ code: 0, head: ['USERNAME', 'SUB', 'SOURCE', 'STATE', 'CLAIMS'] })
    expect(rows).toContainEqual(['alice', '248289761001', 'configuration', 'active', 'name'])
    expect(rows.find(([username]) => username === 'Bob')?.slice(1, 4)).toEqual(['sub-bob', 'store', 'active'])
    expect(stdout).not.toContain('alice-password')
  })

  it.each([
    ['the username of another', ['add', 'BOB'], 'The username is taken.'],
    ['the subject of another', ['add', 'carol', '--sub', 'sub-bob'], 'The subject is taken.'],
    ['a username of the configuration', ['add', 'Alice'], 'The configuration has'],
    ['a subject of the configuration', ['add', 'carol', '--sub', '248289761001'], 'The configuration has'],
    ['a username with control characters', ['add', 'a\u0007b'], 'that nobody sees'],
    ['a username with a blank of no width', ['add', 'a\u200bb'], 'that nobody sees'],
  ])('refuses %s', async (_what, args, reason) => {
    const { code, stdout, stderr } = await accounts([...args, '--password-stdin'], 'a password')
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining(reason) })
  })

  it.each([
    ['short', 'seven77'],
    ['the username', 'Caroline'],
    ['a run', 'abcdefgh'],
  ])('CA31 refuses a password that is %s, and stores nothing', async (_what, password) => {
    const { code, stdout, stderr } = await accounts(['add', 'caroline', '--password-stdin'], password)
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^The password must /),
    })
    expect((await accounts(['list'])).stdout).not.toContain('caroline')
  })

  it('refuses an empty password, one of several lines, and a prompt without a terminal', async () => {
    const add = ['add', 'carol', '--password-stdin']
    expect(await accounts(add, '\n')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('at least 8 characters'),
    })
    expect(await accounts(add, 'one\ntwo\n')).toMatchObject({ code: 1, stderr: expect.stringContaining('one line') })
    expect(await accounts(['add', 'carol'], 'one\n')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'There is no terminal for the prompt: use --password-stdin.\n',
    })
  })

  it('removes an account of the store, not of the configuration', async () => {
    expect(await accounts(['remove', 'bob'])).toEqual({ code: 0, stdout: 'Removed bob\n', stderr: '' })
    expect(await accounts(['remove', 'bob'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('no'),
    })
    expect(await accounts(['remove', 'alice'])).toMatchObject({ code: 1, stderr: expect.stringContaining('there') })
    const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
    expect(audit).toContain('"action":"account.add","username":"Bob"')
    expect(audit.match(/"event":"administration","action":"account.remove"/g)).toHaveLength(1)
  })

  it('shows every account when there is more than one page', async () => {
    const names = Array.from({ length: 250 }, (_, index) => `user-${String(index).padStart(3, '0')}`)
    await using backend = await openEmbedded({ path: join(cli.folder, 'data', 'store'), clock: Date.now })
    const store = openAccountStore(backend)
    await Promise.all(
      names.map((username) =>
        store.accounts.put(username, { username, sub: `sub-${username}`, password_hash: '-', claims: {} }),
      ),
    )
    const { stdout } = await accounts(['list', '--json'])
    const listed = (JSON.parse(stdout) as { username: string }[]).map((row) => row.username)
    expect(listed.filter((name) => name.startsWith('user-'))).toEqual(names)
  })
})

describe('signet accounts factors', () => {
  const now = 1_800_000_000
  const openFactors = async () => {
    const backend = await openEmbedded({ path: join(cli.folder, 'data', 'store'), clock: Date.now })
    const { personFactors: store } = collectionsOf(backend)
    return {
      factors: createPersonFactors({ store, clock: () => now * 1000 }),
      close: () => backend[Symbol.asyncDispose](),
    }
  }
  const passkey = (credentialId: string, name: string): Passkey => ({
    ...{ kind: 'passkey', credentialId, publicKey: 'cHVibGlj', counter: 0, name, createdAt: now },
    ...{ backupEligible: true, backedUp: true, transports: [] },
  })

  it('lists and removes the factors of a person, and records it in the audit log', async () => {
    const { factors, close } = await openFactors()
    await factors.addPasskey('248289761001', passkey('one', 'Phone\u001b[2J'))
    await factors.putRecoveryCodes('248289761001', newRecoveryCodes())
    await factors.addPasskey('elsewhere', passkey('two', 'Laptop'))
    await close()
    const { stdout } = await accounts(['factors', 'Alice', '--json'])
    const id = (JSON.parse(stdout) as { id: string }[])[0]?.id ?? ''
    expect(JSON.parse(stdout)).toEqual([
      { id, kind: 'passkey', name: 'Phone\u001b[2J', backed_up: true, created_at: '2027-01-15T08:00:00Z' },
      { id: 'recovery_codes', kind: 'recovery_codes', left: 10, created_at: '2027-01-15T08:00:00Z' },
    ])
    const table = await accounts(['factors', 'alice'])
    expect(table.stdout).toContain('10 left')
    expect(table.stdout).not.toContain('\u001b')
    expect((await accounts(['factors', '--sub', 'elsewhere'])).stdout).toContain('Laptop')
    expect(await accounts(['remove-factor', id, 'nobody'])).toMatchObject({ code: 1, stdout: '' })
    expect(await accounts(['remove-factor', id, '--sub', 'elsewhere'])).toMatchObject({ code: 1, stdout: '' })
    expect(await accounts(['remove-factor', id])).toMatchObject({ code: 2, stderr: expect.stringContaining('--sub') })
    expect(await accounts(['remove-factor', id, 'alice'])).toEqual({ code: 0, stdout: `Removed ${id}\n`, stderr: '' })
    expect(await accounts(['remove-factor', id, 'alice'])).toMatchObject({ code: 1 })
    const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
    const done = (action: string) => `"event":"administration","action":"${action}","username":"alice"`
    expect(audit).toContain(done('account.list_factors'))
    expect(audit.split(`${done('account.remove_factor')},"factor":"${id}"`)).toHaveLength(2)
  })

  it('end with the account, and do not belong to the next account of the subject', async () => {
    const add = (name: string) => accounts(['add', name, '--password-stdin', '--sub', 'sub-zoe'], 'correct horse')
    const listed = async () => JSON.parse((await accounts(['factors', '--sub', 'sub-zoe', '--json'])).stdout)
    const register = async () => {
      const { factors, close } = await openFactors()
      await factors.addPasskey('sub-zoe', passkey('zoe', 'Phone'))
      await close()
    }
    await add('zoe')
    await register()
    expect(await listed()).toHaveLength(1)
    expect(await accounts(['remove', 'zoe'])).toMatchObject({ code: 0 })
    expect(await listed()).toEqual([])
    await register()
    expect(await add('zoe')).toMatchObject({ code: 0 })
    expect(await listed()).toEqual([])
  })
})
