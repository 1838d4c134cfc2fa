import { InvalidArgumentError, type Command } from 'commander'
import type { ChangeOperatorOptions, LinkOptions } from './operator-people.js'
import type { IssueTokenOptions, ListOptions, OperatorOptions } from './operators.js'
import { configOption, jsonOption, wideOption } from './options.js'

/** Adds the commands that control who may administer the deployment through its admin listener. */
export const addOperatorCommands = (operators: Command): void => {
  addPeopleCommands(operators)
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
    .description('list operators, or the tokens that have not expired')
    .option('--tokens', 'list tokens for automation instead')
    .addOption(configOption())
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: ListOptions) =>
      options.tokens
        ? (await import('./operators.js')).printOperatorTokens(options)
        : (await import('./operator-people.js')).printOperators(options),
    )
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

/** Adds the commands for operators who are people. */
const addPeopleCommands = (operators: Command): void => {
  const role = ['--role <role...>', 'one or more roles: viewer, support, operator, key_custodian, auditor'] as const
  operators
    .command('add')
    .description('add an operator to the store')
    .argument('<name>', 'the name in the audit log, in lower case')
    .requiredOption(...role)
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (name: string, options: ChangeOperatorOptions) =>
      (await import('./operator-people.js')).addNewOperator(name, options),
    )
  operators
    .command('update')
    .description('change the roles of an operator, or disable or enable one')
    .argument('<name>')
    .option(...role)
    .option('--disable', 'refuse the operator, and end what they have open')
    .option('--enable', 'admit the operator again')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (name: string, options: ChangeOperatorOptions) =>
      (await import('./operator-people.js')).changeOperator(name, options),
    )
  operators
    .command('remove')
    .description('remove an operator from the store')
    .argument('<name>')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (name: string, options: OperatorOptions) =>
      (await import('./operator-people.js')).removeStoredOperator(name, options),
    )
  operators
    .command('link')
    .description('print a link that signs an operator in once, within 15 minutes')
    .argument('<name>')
    .option('--role <role...>', 'add the operator with these roles first')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (name: string, options: LinkOptions) =>
      (await import('./operator-people.js')).printLink(name, options),
    )
}

const maxDays = 366

const parseDays = (written: string): number => {
  const days = /^[1-9]\d{0,2}$/.test(written) ? Number(written) : NaN
  if (!(days <= maxDays)) throw new InvalidArgumentError(`Write a number of days from 1 to ${String(maxDays)}.`)
  return days
}
