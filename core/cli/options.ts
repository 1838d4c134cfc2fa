import { Option, type Command } from 'commander'
import { principalTypes } from '../attestation/ports.js'

/** Refuses missing options after unknown ones, which are what was meant; commander's own order is the other. */
export const demand = (command: Command, ...names: readonly string[]): void => {
  const missing = command.options.find(
    (one) => names.includes(one.name()) && command.getOptionValue(one.attributeName()) == null,
  )
  if (missing) command.error(`error: required option '${missing.flags}' not specified`)
}

export const configOption = (description = 'the configuration; default: that of the demo'): Option =>
  new Option('-c, --config <file>', description)

export const jsonOption = (): Option => new Option('--json', 'print JSON')

const principalNames = ['subject', 'principal-id', 'type'] as const

/** What names one principal. */
export const addPrincipalOptions = (command: Command): Command =>
  command
    .option('--subject <subject>', 'whose device or service it is (required)')
    .option('--principal-id <id>', 'the id of the device or service (required)')
    .addOption(new Option('--type <type>', 'principal_type (required)').choices(principalTypes))

/** As `demand`, for a principal and what stands beside it. */
export const demandPrincipal = (command: Command, ...others: readonly string[]): void =>
  demand(command, ...others, ...principalNames)
