import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readDocument } from '../support/document.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

const commands = [
  ['start'],
  ['check'],
  ['keys'],
  ['keys', 'list'],
  ['keys', 'create'],
  ['clients'],
  ['clients', 'list'],
  ['clients', 'add'],
  ['clients', 'show'],
  ['clients', 'remove'],
  ['accounts'],
  ['accounts', 'list'],
  ['accounts', 'add'],
  ['accounts', 'remove'],
  ['grants'],
  ['grants', 'revoke'],
  ['principals'],
  ...['list', 'show', 'revoke', 'restore', 'waiting', 'approve', 'deny'].map((name) => ['principals', name]),
]

describe('the command line', () => {
  it('knows its version', async () => {
    const { code, stdout } = await cli.run(['--version'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  })

  it('has help on every command', async () => {
    for (const command of [[], ...commands]) {
      const { code, stdout, stderr } = await cli.run([...command, '--help'])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain(`Usage: ${['signet', ...command].join(' ')}`)
    }
  })

  it('prints help on help, too', async () => {
    const [help, flag, keys] = await Promise.all([cli.run(['help']), cli.run(['--help']), cli.run(['help', 'keys'])])
    expect(help).toEqual({ code: 0, stdout: flag.stdout, stderr: '' })
    expect(keys).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: signet keys') })
  })

  it('has every command in its document', async () => {
    const namesOf = async (...group: string[]): Promise<string[]> => {
      const [, listed = ''] = /^Commands:\n([^]*)/m.exec((await cli.run([...group, '--help'])).stdout) ?? []
      return [...listed.matchAll(/^ {2}(\w+)/gm)].map(([, name = '']) => name)
    }
    const rows = readDocument('docs/configuration.md').split('\n')
    const isTold = (name: string, inner = ''): boolean =>
      rows.some((row) => row.startsWith(`| \`signet ${name}`) && new RegExp(`\\b${inner}\\b`).test(row))
    const names = await namesOf()
    const groups = names.filter((name) => ['keys', 'audit', 'clients', 'accounts', 'principals'].includes(name))
    const inner = await Promise.all(groups.map(async (name) => [name, await namesOf(name)] as const))
    const untold = inner.flatMap(([name, members]) => members.filter((member) => !isTold(name, member)))
    expect([...names.filter((name) => !isTold(name)), ...untold]).toEqual([])
    expect(inner.every(([, members]) => members.length > 1)).toBe(true)
  })

  it.each([
    [['chekc'], "unknown command 'chekc'", '(Did you mean check?)'],
    [['check', '--confg', 'x.yaml'], "unknown option '--confg'", '(Did you mean --config?)'],
    [['keys', 'create', '--algo', 'ES256'], "unknown option '--algo'", '(Did you mean --alg?)'],
    [['start', '--config'], 'argument missing', ''],
    [['start', 'my.yaml'], 'too many arguments', ''],
    [['check'], "required option '-c, --config <file>'", ''],
    [['keys', 'create', '--alg', 'ES256'], "required option '--signer <name>'", ''],
    [['keys', 'create', '--signer', 'local', '--alg', 'HS256'], "'HS256' is invalid", 'EdDSA'],
    [['clients', 'show'], "missing required argument 'client_id'", ''],
    [['accounts', 'add', 'bob', '--claim', 'email'], 'Write name=value', ''],
    [['accounts', 'add', 'bob', '--claim', 'sub=1'], '--sub', ''],
    [['accounts', 'add', 'bob', '--password', 'hunter22'], "unknown option '--password'", ''],
    [['keys'], 'Usage: signet keys', 'create'],
    [[], 'Usage: signet', 'start'],
  ])('refuses %j with exit code 2', async (args, said, meant) => {
    const { code, stdout, stderr } = await cli.run(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(said)
    expect(stderr).toContain(meant)
  })

  it('says which file it cannot read', async () => {
    for (const args of [['start'], ['keys', 'list'], ['clients', 'list'], ['accounts', 'list']]) {
      const { code, stdout, stderr } = await cli.run([...args, '--config', 'absent.yaml'])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toBe('the configuration file absent.yaml cannot be read (ENOENT)\n')
    }
  })
})
