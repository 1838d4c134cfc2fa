import cluster from 'node:cluster'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { principalTypes } from '../attestation/ports.js'
import { CommandFailed, setVerbose } from './failure.js'
import { printError } from './output.js'
import { setWide } from './table.js'

/**
 * Refuses missing options after unknown ones, because the unknown ones are what was meant. Commander itself checks in
 * the opposite order.
 */
export const demand = (command: Command, ...names: readonly string[]): void => {
  const missing = command.options.find(
    (one) => names.includes(one.name()) && command.getOptionValue(one.attributeName()) == null,
  )
  if (missing) command.error(`error: required option '${missing.flags}' not specified`)
}

class ConfigOption extends Option {
  /** Without a configuration the command has nothing to work on. */
  readonly isRequired: boolean

  constructor(description: string, isRequired: boolean) {
    super('-c, --config <file>', description)
    this.isRequired = isRequired
    this.env('SIGNET_CONFIG')
  }
}

/** Returns the option for the configuration of a command that needs one. */
export const configOption = (): Option => new ConfigOption('the configuration', true)

/** Returns the option for a configuration that a command can do without. `description` says what it does then. */
export const optionalConfig = (description: string): Option => new ConfigOption(description, false)

/** The option of commands that can work through the admin API of a service. */
class AdminOption extends Option {
  constructor() {
    super('--admin <url>', 'a running service instead: the URL of its admin listener, or the path of its socket')
    this.env('SIGNET_ADMIN_URL')
  }
}

/** Lets every other command that needs a configuration say that a service cannot do what it does. */
export const refuseServices = (command: Command): void => {
  const [config, admin] = [findConfigOption(command), command.options.some((one) => one instanceof AdminOption)]
  if (config?.isRequired && !admin) command.addOption(new Option('--admin <url>').hideHelp())
  for (const inner of command.commands) refuseServices(inner)
}

/** Says that only the stores can do what was asked. */
export const storesOnly = (): CommandFailed =>
  new CommandFailed('This works on the stores alone: run the command on a host of the service, with --config.')

/** Adds the options that say what a command works on: the stores of a configuration, or a running service. */
export const addTarget = (command: Command): Command => command.addOption(configOption()).addOption(new AdminOption())

/**
 * Removes the value of the option that does not count. What the command line says counts before what the environment
 * does, and a service before a configuration. Refuses a command line that names both.
 */
const chooseTarget = (command: Command): void => {
  const [admin, config] = [command.getOptionValueSource('admin'), command.getOptionValueSource('config')]
  if (admin === 'cli' && config === 'cli') command.error('error: give --admin or --config')
  const url = String(command.getOptionValue('admin') ?? '')
  if (url === '' || config === 'cli') {
    if (admin === 'cli') command.error('error: --admin is empty')
    return void command.setOptionValue('admin', undefined)
  }
  if (admin === 'env') printError(`service: ${url} (SIGNET_ADMIN_URL)`)
  command.setOptionValue('config', undefined)
}

const findConfigOption = (command: Command): ConfigOption | undefined =>
  command.options.find((one) => one instanceof ConfigOption)

/** Prints the configuration on standard error when it comes from the environment and not from the command line. */
export const nameConfig = (command: Command): void => {
  if (command.getOptionValueSource('config') !== 'env') return
  const file = String(command.getOptionValue('config'))
  // A variable that is set to an empty value counts as unset.
  if (file === '') command.setOptionValue('config', undefined)
  else if (!cluster.isWorker) printError(`configuration: ${file} (SIGNET_CONFIG)`)
}

/**
 * Does the same as `nameConfig`, and refuses a command without a configuration, so that none works on the demo by
 * mistake.
 */
export const requireConfig = (command: Command): void => {
  nameConfig(command)
  if (!command.getOptionValue('config'))
    command.error('error: no configuration: name it with --config FILE or in the environment variable SIGNET_CONFIG')
}

/** Runs before every command. */
export const applyOptions = (command: Command): void => {
  const { wide, verbose } = command.opts<{ readonly wide?: true; readonly verbose?: true }>()
  setWide(wide === true)
  setVerbose(verbose === true)
  const canUseService = command.options.some((one) => one instanceof AdminOption)
  if (canUseService) chooseTarget(command)
  const isOfService = command.getOptionValue('admin') !== undefined
  if (isOfService && !canUseService) throw storesOnly()
  if (findConfigOption(command)?.isRequired && !isOfService) requireConfig(command)
}

export const jsonOption = (): Option => new Option('--json', 'print JSON')

/** Returns the option of commands that print tables. */
export const wideOption = (): Option => new Option('--wide', 'do not shorten tables to the width of the terminal')

/** Returns the option of commands that load plugins. */
export const verboseOption = (): Option => new Option('--verbose', 'print the stack of what a plugin threw')

/** Adds the options that name one principal. */
export const addPrincipalOptions = (command: Command, argument = '[subject/principal_id]'): Command =>
  command
    .argument(argument, 'the principal; or use --subject and --principal-id')
    .option('--subject <subject>', 'whose device or service it is')
    .option('--principal-id <id>', 'the id of the device or service')
    .addOption(new Option('--type <type>', 'principal_type').choices(principalTypes).default('device'))

export interface PrincipalOptions {
  readonly subject?: string
  readonly principalId?: string
}

/**
 * Returns the names of a principal, from `subject/principal_id` or the options. Refuses a command that gives neither
 * or both.
 */
export const namePrincipal = (
  written: string | undefined,
  { subject, principalId }: PrincipalOptions,
  command: Command,
): Required<PrincipalOptions> => {
  const isNamed = subject !== undefined && principalId !== undefined
  if (written === undefined && isNamed) return { subject, principalId }
  if (written === undefined || subject !== undefined || principalId !== undefined)
    return command.error('error: name the principal: subject/principal_id, or --subject and --principal-id')
  const [first = '', second = '', ...more] = written.split('/')
  if (first === '' || second === '' || more.length > 0)
    return command.error(
      'error: write subject/principal_id; if one of them has a slash, use --subject and --principal-id',
    )
  return { subject: first, principalId: second }
}

/** Collects the values of an option that may be repeated. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Parses `90m`, `24h` or `7d` into seconds. Throws `InvalidArgumentError`. */
export const parseDuration = (written: string): number => {
  const [, count = '', unit = ''] = /^([1-9]\d{0,5})([smhd])$/.exec(written) ?? []
  const seconds = Number(count) * (unitSeconds[unit] ?? NaN)
  if (Number.isNaN(seconds)) throw new InvalidArgumentError('Write a duration such as 90m, 24h or 7d.')
  return seconds
}
