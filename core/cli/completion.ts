import type { Command, Option } from 'commander'
import { bashScript } from './completion-bash.js'
import { fishScript } from './completion-fish.js'
import { zshScript } from './completion-zsh.js'
import type { CompletedCommand, CompletedOption } from './completed-command.js'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const

export type Shell = keyof typeof scripts

export const shells = Object.keys(scripts) as readonly Shell[]

/** Returns the script that completes `program` in a shell. */
export const createCompletion = (shell: Shell, program: Command): string => scripts[shell](describe(program))

const describe = (command: Command, path = ''): readonly CompletedCommand[] => {
  const commands = command.commands.map((one) => ({ name: one.name(), description: one.description() }))
  const help = { name: '--help', short: '-h', description: 'print help', value: 'none' } as const
  const options = [...command.options.filter(({ hidden }) => !hidden).map(describeOption), help]
  const [argument] = command.registeredArguments
  const takesFile = argument !== undefined && /^(files?|folder)$/.test(argument.name())
  return [
    { path, commands, options, argument: argument?.argChoices ?? (takesFile ? 'file' : 'none') },
    ...command.commands.flatMap((one) => describe(one, `${path} ${one.name()}`.trim())),
  ]
}

const describeOption = ({ long, short, description, flags, argChoices }: Option): CompletedOption => ({
  name: long ?? '',
  short,
  description,
  value: argChoices ?? (/<(files?|folder)(\.\.\.)?>/.test(flags) ? 'file' : /[<[]/.test(flags) ? 'any' : 'none'),
})
