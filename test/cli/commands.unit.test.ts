import { execFileSync } from 'node:child_process'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createCompletion, shells } from '../../core/cli/completion.js'
import { examples } from '../../core/cli/examples.js'
import { createProgram } from '../../core/cli/program.js'
import { truncateMiddle, fitWidths } from '../../core/cli/table.js'

const program = createProgram()

/** The commands that do something: those without commands of their own, and those that take an argument besides. */
const leaves = (command: Command, path = ''): readonly (readonly [string, Command])[] => [
  ...(command.commands.length === 0 || command.registeredArguments.length > 0 ? ([[path, command]] as const) : []),
  ...command.commands.flatMap((one) => leaves(one, `${path} ${one.name()}`.trim())),
]

/** As a shell splits it, for the plain words of examples. */
const split = (line: string): readonly string[] =>
  (line.replace(/ [<>].*$/, '').match(/(?:[^\s"]|"[^"]*")+/g) ?? []).map((word) => word.replaceAll('"', ''))

describe('every command', () => {
  it('has examples, and every example belongs to a command', () => {
    expect(Object.keys(examples).toSorted()).toEqual(
      leaves(program)
        .map(([path]) => path)
        .toSorted(),
    )
  })

  it.each(Object.entries(examples).flatMap(([path, lines]) => lines.map((line) => [line, path] as const)))(
    'parses its example: signet %s',
    (line, path) => {
      const words = split(line)
      const names = path.split(' ')
      expect(words.slice(0, names.length)).toEqual(names)
      const command = new Map(leaves(createProgram())).get(path)!
      const { operands, unknown } = command.parseOptions([...words.slice(names.length)])
      expect(unknown).toEqual([])
      const [least, most] = [
        command.registeredArguments.filter(({ required }) => required).length,
        command.registeredArguments.some(({ variadic }) => variadic) ? Infinity : command.registeredArguments.length,
      ]
      expect(operands.length).toBeGreaterThanOrEqual(least)
      expect(operands.length).toBeLessThanOrEqual(most)
    },
  )

  it.each([
    [[], 'give one of --sub, --all and --client'],
    [['--all', '--client', 'shop'], 'give one of --sub, --all and --client'],
    [['--all', '--sid', 'one'], '--sid needs --sub'],
  ])('refuses signet sessions end %j', async (options, message) => {
    const program = createProgram()
    for (const command of [program, ...leaves(program).map(([, leaf]) => leaf)])
      command.configureOutput({ writeErr: () => undefined })
    const args = ['sessions', 'end', '--config', 'my.yaml', ...options]
    await expect(program.parseAsync(args, { from: 'user' })).rejects.toThrow(message)
  })

  it('that prints results can print JSON', () => {
    const without = leaves(program).filter(([, { options }]) => !options.some(({ long }) => long === '--json'))
    expect(without.map(([path]) => path)).toEqual(['start', 'completion', 'help'])
  })
})

describe('completion in bash', () => {
  const script = createCompletion('bash', program)
  const complete = (...words: readonly string[]): readonly string[] => {
    const test = `${script}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_signet
printf '%s\\n' "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['-c', test, 'bash', 'signet', ...words], { encoding: 'utf8' })
      .split('\n')
      .filter(Boolean)
  }

  it.each([
    [['ch'], ['check']],
    [
      ['keys', ''],
      ['list', 'plan', 'strays', 'create', 'rotate', 'adopt', 'release', 'ceremony', 'log', '--help'],
    ],
    [
      ['keys', 'log', ''],
      ['verify', 'key', '--help'],
    ],
    [['keys', 'create', '--s'], ['--signer']],
    [
      ['keys', 'create', '--alg', 'ES'],
      ['ES256', 'ES384'],
    ],
    [['keys', 'create', '--config', 'my.yaml', '--k'], ['--kid']],
    [
      ['principals', 'issue', '--type', ''],
      ['device', 'service'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish', '--help'],
    ],
    [['clients', 'rotate-secret', 'shop', '--o'], ['--overlap']],
    // Empty: bash completes the names of files.
    [['clients', 'list', '--config', 'my'], []],
    [['check', 'my'], []],
  ])('answers %j', (words, answer) => {
    expect(complete(...words)).toEqual(answer)
  })
})

describe('completion', () => {
  it.each(shells)('offers every command and option in %s', (shell) => {
    const script = createCompletion(shell, program)
    for (const [path, { options }] of leaves(program)) {
      expect(script).toContain(path)
      for (const { long } of options) expect(script).toContain(shell === 'fish' ? `-l ${String(long).slice(2)}` : long)
    }
  })
})

describe('a table', () => {
  it.each([
    [[10, 10], 40, [10, 10]],
    [[10, 60], 40, [10, 28]],
    [[30, 60, 5], 49, [20, 20, 5]],
    [[20, 20, 20], 10, [8, 8, 8]],
  ])('of columns %j fits into %i', (natural, total, widths) => {
    expect(fitWidths(natural, total)).toEqual(widths)
  })

  it('keeps the beginning and the end of a cell that is too long', () => {
    const arn = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab'
    expect(truncateMiddle(arn, 21)).toBe('arn:aws:km…34567890ab')
    expect(truncateMiddle('short', 5)).toBe('short')
  })
})
