import type { Command } from 'commander'
import { addPrincipalOptions, configOption, demandPrincipal, jsonOption } from './options.js'
import type { FactorOptions } from './principal-factors.js'

/** What a principal proves itself with at its enrolment. */
export const addFactorCommands = (principals: Command): void => {
  addFactorOptions(
    principals.command('issue').description('issue what a principal needs to enrol, and print it once'),
  ).action(async (options: FactorOptions, command: Command) => {
    demandPrincipal(command, 'kind')
    await (await import('./principal-factors.js')).issueFactor(options)
  })
  addFactorOptions(principals.command('withdraw').description('withdraw what was issued to a principal')).action(
    async (options: FactorOptions, command: Command) => {
      demandPrincipal(command, 'kind')
      await (await import('./principal-factors.js')).withdrawFactor(options)
    },
  )
}

const addFactorOptions = (command: Command): Command =>
  addPrincipalOptions(
    command.addOption(configOption()).option('--kind <kind>', 'the second factor (required)'),
  ).addOption(jsonOption())
