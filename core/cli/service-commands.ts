import { InvalidArgumentError, type Command } from 'commander'
import { maxPort } from '../../config/port.js'
import type { CheckOptions } from './check.js'
import type { DoctorOptions } from './doctor.js'
import type { MigrateOptions } from './migrate.js'
import {
  configOption,
  jsonOption,
  nameConfig,
  optionalConfig,
  requireConfig,
  verboseOption,
  wideOption,
} from './options.js'
import type { ReloadOptions } from './reload.js'
import type { StartOptions } from './start.js'

/** Adds the commands that run the service and those by which its operator inspects it. */
export const addServiceCommands = (program: Command): void => {
  program
    .command('start')
    .description('serve; without a configuration a demo on http://localhost:3000')
    .addOption(optionalConfig('the configuration; default: the demo'))
    .option('--port <port>', 'listen on this port instead, and on the next one for the admin listener', parsePort)
    .option('--watch', 'start again when the configuration or a plugin beside it changes: for development')
    .addOption(verboseOption())
    .action(async (options: StartOptions & { readonly watch?: true }, command: Command) => {
      nameConfig(command)
      if (options.watch) await (await import('./watch.js')).startWatched(options)
      else await (await import('./start.js')).start(options)
    })

  program
    .command('check')
    .description('validate a configuration without network access; prints one line for each problem')
    .argument('[file]', 'the configuration; or use --config')
    .addOption(optionalConfig('the configuration'))
    .addOption(jsonOption())
    .addOption(verboseOption())
    .action(async (file: string | undefined, options: CheckOptions, command: Command) => {
      if (file === undefined) requireConfig(command)
      else if (command.getOptionValueSource('config') === 'cli') command.error('error: give one configuration')
      await (await import('./check.js')).check({ ...options, config: file ?? options.config })
    })

  program
    .command('doctor')
    .description('test every store, signer and key, or compare two configurations')
    .addOption(optionalConfig('the configuration'))
    .option('--compare <files...>', 'show what two configurations sign differently')
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: DoctorOptions, command: Command) => {
      if (options.compare === undefined) requireConfig(command)
      else if (options.compare.length !== 2) command.error("error: option '--compare <files...>' needs two files")
      await (await import('./doctor.js')).doctor(options)
    })

  program
    .command('migrate')
    .description('create and check what the stores need besides records: the indexes of MongoDB')
    .addOption(configOption())
    .addOption(jsonOption())
    .option('--search-index', 'also complete the index of searches, although it was made before')
    .action(async (options: MigrateOptions) => (await import('./migrate.js')).migrate(options))

  program
    .command('reload')
    .description('make the running service reload its configuration')
    .addOption(configOption())
    .option('--force', 'remove keys even if tokens that they signed may still be valid')
    .addOption(jsonOption())
    .action(async (options: ReloadOptions) => (await import('./reload.js')).reload(options))
}

const parsePort = (written: string): number => {
  const port = /^[1-9]\d{0,4}$/.test(written) ? Number(written) : NaN
  if (!(port <= maxPort)) throw new InvalidArgumentError(`Write a number from 1 to ${String(maxPort)}.`)
  return port
}
