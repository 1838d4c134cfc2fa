import { Option, type Command } from 'commander'

/** Refuses missing options after unknown ones, which are what was meant; commander's own order is the other. */
export const demand = (command: Command, ...names: readonly string[]): void => {
  const missing = command.options.find(
    (one) => names.includes(one.name()) && command.getOptionValue(one.attributeName()) == null,
  )
  if (missing) command.error(`error: required option '${missing.flags}' not specified`)
}

export const configOption = (description = 'the configuration; default: the one of the demo'): Option =>
  new Option('-c, --config <file>', description)

export const jsonOption = (): Option => new Option('--json', 'print JSON')
