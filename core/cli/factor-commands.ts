import { Option, type Command } from 'commander'
import { principalTypes } from '../attestation/ports.js'
import { configOption, demand, jsonOption } from './options.js'
import type { FactorOptions, IssueOptions } from './principal-factors.js'

/** What a principal proves itself with at its enrolment. */
export const addFactorCommands = (principals: Command): void => {
  addFactorOptions(principals.command('issue').description('make what a principal enrols with and print it, once'))
    .addOption(jsonOption())
    .action(async (options: IssueOptions, command: Command) => {
      demandFactor(command)
      await (await import('./principal-factors.js')).issueFactor(options)
    })
  addFactorOptions(principals.command('withdraw').description('forget what was issued to a principal')).action(
    async (options: FactorOptions, command: Command) => {
      demandFactor(command)
      await (await import('./principal-factors.js')).withdrawFactor(options)
    },
  )
}

const addFactorOptions = (command: Command): Command =>
  command
    .addOption(configOption())
    .option('--kind <kind>', 'the second factor (required)')
    .option('--subject <subject>', 'whose device or service it is (required)')
    .option('--principal-id <id>', 'the id of the device or service (required)')
    .addOption(new Option('--type <type>', 'principal_type (required)').choices(principalTypes))

const demandFactor = (command: Command): void => demand(command, 'kind', 'subject', 'principal-id', 'type')
