import type { Command } from 'commander'
import {
  addPrincipalOptions,
  configOption,
  demand,
  jsonOption,
  namePrincipal,
  type PrincipalOptions,
} from './options.js'
import type { FactorOptions } from './principal-factors.js'

/** Adds the commands for the factors that a principal proves itself with at its enrolment. */
export const addFactorCommands = (principals: Command): void => {
  addFactorOptions(
    principals
      .command('issue')
      .description('issue what a principal needs to enrol, and print it once; or what many need, as JSON Lines')
      .option('--from <file>', 'for every principal of a CSV file with the columns subject,principal_id'),
  ).action(async (written: string | undefined, options: IssueOptions, command: Command) => {
    demand(command, 'kind')
    const { from, subject, principalId, ...rest } = options
    if (from === undefined) {
      const { printIssuedFactor } = await import('./principal-factors.js')
      return printIssuedFactor({ ...rest, ...namePrincipal(written, options, command) })
    }
    if (written !== undefined || subject !== undefined || principalId !== undefined)
      command.error('error: --from names the principals')
    await (await import('./principal-factors.js')).issueFactors(from, rest)
  })
  addFactorOptions(principals.command('withdraw').description('withdraw what was issued to a principal')).action(
    async (written: string | undefined, options: WrittenOptions, command: Command) => {
      demand(command, 'kind')
      const named = namePrincipal(written, options, command)
      await (await import('./principal-factors.js')).withdrawFactorOf({ ...options, ...named })
    },
  )
}

type WrittenOptions = Omit<FactorOptions, keyof PrincipalOptions> & PrincipalOptions

type IssueOptions = WrittenOptions & { readonly from?: string }

const addFactorOptions = (command: Command): Command =>
  addPrincipalOptions(
    command.addOption(configOption()).option('--kind <kind>', 'the second factor (required)'),
  ).addOption(jsonOption())
