import { InvalidArgumentError, type Command } from 'commander'
import type { IssueTokenOptions, OperatorOptions } from './operators.js'
import { configOption, jsonOption, wideOption } from './options.js'

/** Adds the commands that control who may administer the deployment through its admin listener. */
export const addOperatorCommands = (operators: Command): void => {
  operators
    .command('issue')
    .description('issue a token with which automation calls the admin API, and print it once')
    .argument('<name>', 'the name in the audit log')
    .requiredOption('--role <role...>', 'one or more roles: viewer, support, operator, key_custodian, auditor')
    .option('--days <number>', 'how long it is valid', parseDays, 90)
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (name: string, options: IssueTokenOptions) =>
      (await import('./operators.js')).printNewOperatorToken(name, options),
    )
  operators
    .command('list')
    .description('list the tokens of operators that have not expired')
    .addOption(configOption())
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: OperatorOptions) => (await import('./operators.js')).printOperators(options))
  operators
    .command('revoke')
    .description('revoke a token of an operator')
    .argument('<id>')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (id: string, options: OperatorOptions) =>
      (await import('./operators.js')).revokeOperator(id, options),
    )
}

const maxDays = 366

const parseDays = (written: string): number => {
  const days = /^[1-9]\d{0,2}$/.test(written) ? Number(written) : NaN
  if (!(days <= maxDays)) throw new InvalidArgumentError(`Write a number of days from 1 to ${String(maxDays)}.`)
  return days
}
