import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openAccountStore } from '../../core/interaction/accounts.js'
import { openEmbedded } from '../../core/storage/embedded/open-embedded.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

const fixed =
  'accounts: [{ username: alice, password: alice-password, sub: "248289761001", claims: { name: Alice Adams } }]'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
  await cli.write('signet.yaml', configuration(fixed))
})
afterAll(() => cli[Symbol.asyncDispose]())

const accounts = (args: readonly string[], input = '') =>
  cli.run(['accounts', ...args, '--config', 'signet.yaml'], { input })

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
    ['a username with control characters', ['add', 'a\u0007b'], 'no control characters'],
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

  it('refuses an empty password, one of several lines, and to ask where there is no terminal', async () => {
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

  it('shows every account when there are more than a page of them', async () => {
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
