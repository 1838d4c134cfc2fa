import { readdir } from 'node:fs/promises'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProgram } from '../../core/cli/program.js'
import { readDocument } from '../support/document.js'
import { configuration, forServices, openCommandLine, type CommandLine } from '../support/server/command-line.js'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

const below = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(below)]

describe('the command line', () => {
  it('prints its version and the commit of the build', async () => {
    const { code, stdout } = await cli.run(['--version'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+ \([0-9a-f]{12}\)\n$/) })
  })

  it('accepts a value that begins like an option of the program', async () => {
    const { code, stdout, stderr } = await cli.run(['sessions', 'end', '--sub', 'alice', '--sid', '-V1'])
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('no configuration'),
    })
  })

  it('has help on every command', async () => {
    const program = createProgram()
    for (const command of below(program)) {
      expect(command.helpInformation()).toMatch(/^Usage: signet[^]*\n\n[A-Za-z][^]*-h, --help +print help$/m)
      expect(command.description()).not.toBe('')
    }
    for (const names of [[], ['principals'], ['principals', 'approve']]) {
      const { code, stdout, stderr } = await cli.run([...names, '--help'])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain(`Usage: ${['signet', ...names].join(' ')}`)
    }
  })

  it('prints help on help, too', async () => {
    const [help, flag, keys] = await Promise.all([cli.run(['help']), cli.run(['--help']), cli.run(['help', 'keys'])])
    expect(help).toEqual({ code: 0, stdout: flag.stdout, stderr: '' })
    expect(keys).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: signet keys') })
    const add = await cli.run(['accounts', 'add', '--help'])
    expect(add.stdout).toContain('\nExamples:\n  signet accounts add alice ')
    expect(add.stdout).not.toContain('default: {}')
  })

  it('documents every command', () => {
    const namesOf = ({ commands }: Command): string[] => commands.map((command) => command.name())
    const rows = readDocument('docs/command-line.md').split('\n')
    const isTold = (name: string, inner = ''): boolean =>
      rows.some((row) => row.startsWith(`| \`signet ${name}`) && new RegExp(`\\b${inner}\\b`).test(row))
    const program = createProgram()
    const names = namesOf(program)
    const groups = program.commands.filter(({ commands }) => commands.length > 0)
    const untold = groups.flatMap((group) => namesOf(group).filter((name) => !isTold(group.name(), name)))
    expect([...names.filter((name) => !isTold(name)), ...untold]).toEqual([])
    expect(groups.length).toBeGreaterThan(5)
  })

  it.each([
    [['chekc'], "unknown command 'chekc'", '(Did you mean check?)'],
    [['help', 'nonsense'], "unknown command 'nonsense'", ''],
    [['help', 'keys', 'lst'], "unknown command 'lst'", '(Did you mean list?)'],
    [['completion', 'csh'], "'csh' is invalid", 'fish'],
    [['check', '--confg', 'x.yaml'], "unknown option '--confg'", '(Did you mean --config?)'],
    [['keys', 'create', '--algo', 'ES256'], "unknown option '--algo'", '(Did you mean --alg?)'],
    [['start', '--config'], 'argument missing', ''],
    [['start', 'my.yaml'], 'too many arguments', ''],
    [['check'], 'no configuration', 'SIGNET_CONFIG'],
    [['check', 'a.yaml', '--config', 'b.yaml'], 'give one configuration', ''],
    [['clients', 'add'], 'no configuration', '--config FILE'],
    [['doctor'], 'no configuration', ''],
    [['keys', 'create', '--alg', 'ES256', '--config', 'a.yaml'], "required option '--signer <name>'", ''],
    [['keys', 'create', '--signer', 'local', '--alg', 'HS256'], "'HS256' is invalid", 'EdDSA'],
    [['clients', 'rotate-secret', 'shop', '--overlap', '1w', '--config', 'a.yaml'], 'Write a duration', '24h'],
    [['clients', 'show'], "missing required argument 'client_id'", ''],
    [['accounts', 'add', 'bob', '--claim', 'email'], 'Write name=value', ''],
    [['accounts', 'add', 'bob', '--claim', 'sub=1'], '--sub', ''],
    [['accounts', 'add', 'bob', '--password', 'hunter22'], "unknown option '--password'", ''],
    [['keys'], 'Usage: signet keys', 'create'],
    [[], 'Usage: signet', 'start'],
  ])('rejects %j with exit code 2', async (args, said, meant) => {
    const { code, stdout, stderr } = await cli.run(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(said)
    expect(stderr).toContain(meant)
  })

  it('reports which file it cannot read', async () => {
    for (const args of [['start'], ['keys', 'list'], ['clients', 'list'], ['accounts', 'list']]) {
      const { code, stdout, stderr } = await cli.run([...args, '--config', 'absent.yaml'])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toBe('the configuration file absent.yaml cannot be read: there is no such file\n')
    }
  })
})

describe('the configuration of a command', () => {
  const named = { SIGNET_CONFIG: 'named.yaml' }

  it('is that of SIGNET_CONFIG, which is printed on standard error', async () => {
    await cli.write('named.yaml', configuration())
    const { code, stdout, stderr } = await cli.run(['keys', 'list'], { env: named })
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'configuration: named.yaml (SIGNET_CONFIG)\n' })
    expect(stdout).toContain('ed-1')
    const checked = await cli.run(['check'], { env: named })
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining('named.yaml is in order.') })
  })

  it('is that of the command line when both are given', async () => {
    await cli.write('other.yaml', forServices().replaceAll('ed-1', 'ed-other'))
    const { stdout, stderr } = await cli.run(['keys', 'list', '--config', 'other.yaml'], { env: named })
    expect({ stdout, stderr }).toEqual({ stdout: expect.stringContaining('ed-other'), stderr: '' })
    expect(await cli.run(['check', 'other.yaml'], { env: named })).toMatchObject({ code: 0, stderr: '' })
  })

  it('is missing when the variable is empty, so that no command uses the demo by mistake', async () => {
    const refused = await cli.run(['clients', 'add'], { env: { SIGNET_CONFIG: '' } })
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('no configuration') })
    expect(await readdir(cli.folder)).not.toContain('data')
  })
})

describe('results', () => {
  it('state that there are none', async () => {
    await cli.write('empty.yaml', configuration())
    await cli.run(['migrate', '--config', 'empty.yaml'])
    const list = async (...args: string[]) => (await cli.run([...args, '--config', 'empty.yaml'])).stdout
    expect(await list('clients', 'list')).toBe('No clients.\n')
    expect(await list('clients', 'list', '--json')).toBe('[]\n')
    expect(await list('accounts', 'list')).toBe('No accounts.\n')
    expect(await list('grants', 'list', '--sub', 'nobody')).toMatch(/^No grant of this person is listed\./)
  })

  it('are JSON on request', async () => {
    await cli.write('json.yaml', configuration())
    const run = async (args: readonly string[], input = '') => {
      const { code, stdout } = await cli.run([...args, '--json'], { input })
      return { code, ...JSON.parse(stdout) }
    }
    const config = ['--config', 'json.yaml']
    await cli.run(['migrate', ...config])
    expect(await run(['check', 'json.yaml'])).toMatchObject({
      code: 0,
      ok: true,
      problems: [],
      keys: [{ kid: 'ed-1' }],
    })
    await cli.write('wrong.yaml', configuration('log: { level: loud }'))
    const problem = { path: 'log.level', line: expect.any(Number), message: expect.stringContaining('must be one of') }
    expect(await run(['check', 'wrong.yaml'])).toMatchObject({ code: 1, ok: false, problems: [problem] })
    expect(await run(['keys', 'create', '--signer', 'local', '--alg', 'ES256', '--kid', 'es-1', ...config])).toEqual({
      ...{ code: 0, kid: 'es-1', alg: 'ES256', signer: 'local', ref: 'es-1' },
    })
    const added = await run(['accounts', 'add', 'alice', '--password-stdin', ...config], 'correct horse battery')
    expect(added).toEqual({ code: 0, username: 'alice', sub: expect.any(String), state: 'added' })
  })
})
