import type { Command } from 'commander'
import type { DesiredOptions, ExportOptions, PlanOptions } from './desired.js'
import { configOption, jsonOption } from './options.js'

/** Adds the commands for clients and operators as files. */
export const addDesiredCommands = (program: Command): void => {
  filed(program.command('plan').description('show how files of clients and operators differ from the store'))
    .option('--exit-code', 'exit with 3 when there is something to apply')
    .action(async (options: PlanOptions) => (await import('./desired.js')).printPlan(options))
  filed(
    program.command('apply').description('change clients and operators in the store as files describe them'),
  ).action(async (options: DesiredOptions) => (await import('./desired.js')).apply(options))
  program
    .command('export')
    .description('write a file for each client and operator in the store, without secrets')
    .argument('<folder>', 'a new or empty folder')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (folder: string, options: ExportOptions) =>
      (await import('./desired.js')).exportFiles(folder, options),
    )
}

const filed = (command: Command): Command =>
  command
    .requiredOption('-f, --files <folder>', 'YAML or JSON files, in this folder and below')
    .option('--prune', 'also remove what has no file')
    .addOption(configOption())
    .addOption(jsonOption())
