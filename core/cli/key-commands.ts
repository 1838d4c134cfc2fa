import { Option, type Command } from 'commander'
import { allAlgorithms } from '../jose/algorithms.js'
import type { CreateKeyOptions, ListKeysOptions } from './keys.js'
import { configOption, demand, jsonOption, wideOption } from './options.js'
import type { PlanKeysOptions } from './plan-keys.js'
import type { StrayKeysOptions } from './stray-keys.js'

/** Adds the commands for the keys of a deployment. */
export const addKeyCommands = (keys: Command): void => {
  keys
    .command('list')
    .description('list the configured keys and their states')
    .addOption(configOption())
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: ListKeysOptions) => (await import('./keys.js')).printKeys(options))
  keys
    .command('plan')
    .description('show the timeline of the keys: changes, signing keys and gaps')
    .addOption(configOption())
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: PlanKeysOptions) => (await import('./plan-keys.js')).printPlan(options))
  keys
    .command('strays')
    .description('list the keys that signers of slots hold and no record knows')
    .addOption(configOption())
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: StrayKeysOptions) => (await import('./stray-keys.js')).printStrays(options))
  keys
    .command('create')
    .description('create a key in a signer and print the lines for `keys:`')
    .addOption(configOption())
    .option('--signer <name>', 'the name of the signer in the configuration (required)')
    .addOption(new Option('--alg <alg>', 'the algorithm (required)').choices(allAlgorithms))
    .option('--kid <kid>', 'default: the algorithm and a random part')
    .option('--ref <ref>', 'the name for the signer; default: the kid')
    .addOption(jsonOption())
    .action(async (options: CreateKeyOptions, command: Command) => {
      demand(command, 'signer', 'alg')
      await (await import('./keys.js')).createKey(options)
    })
}
