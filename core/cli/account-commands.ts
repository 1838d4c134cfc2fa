import { InvalidArgumentError, type Command } from 'commander'
import type { JsonObject } from '../json.js'
import type { SetPasswordOptions } from './account-changes.js'
import type { AccountOptions, AddAccountOptions } from './accounts.js'
import { configOption, jsonOption, wideOption } from './options.js'

/** Accounts for sign-in by password. */
export const addAccountCommands = (accounts: Command): void => {
  accounts
    .command('list')
    .description('list all accounts, of the configuration and of the store')
    .addOption(configOption())
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: AccountOptions) => (await import('./accounts.js')).printAccounts(options))
  oneAccount(accounts, 'show', 'show an account, without its password').action(
    async (username: string, options: AccountOptions) =>
      (await import('./accounts.js')).printAccount(username, options),
  )
  accounts
    .command('add')
    .description('add an account; prompts for the password')
    .argument('<username>')
    .addOption(configOption())
    .option('--password-stdin', 'read the password from standard input')
    .option('--sub <sub>', 'the subject of the person; default: a random UUID')
    .option('--claim <name=value>', 'a claim, as JSON or text; may be repeated', collectClaim)
    .addOption(jsonOption())
    .action(async (username: string, options: AddAccountOptions) =>
      (await import('./accounts.js')).addAccountTo(username, options),
    )
  oneAccount(accounts, 'set-password', 'change a password; sessions and tokens of the old one end at once')
    .option('--password-stdin', 'read the password from standard input')
    .action(async (username: string, options: SetPasswordOptions) =>
      (await import('./account-changes.js')).setPasswordOf(username, options),
    )
  oneAccount(accounts, 'disable', 'disable sign-in with an account; its sessions and tokens end at once').action(
    async (username: string, options: AccountOptions) =>
      (await import('./account-changes.js')).setDisabledOf(username, true, options),
  )
  oneAccount(accounts, 'enable', 'enable a disabled account; the person has to sign in again').action(
    async (username: string, options: AccountOptions) =>
      (await import('./account-changes.js')).setDisabledOf(username, false, options),
  )
  oneAccount(accounts, 'remove', 'remove an account from the store: its sessions and tokens end with it').action(
    async (username: string, options: AccountOptions) =>
      (await import('./account-changes.js')).removeAccountFrom(username, options),
  )
}

const oneAccount = (accounts: Command, name: string, description: string): Command =>
  accounts
    .command(name)
    .description(description)
    .argument('<username>')
    .addOption(configOption())
    .addOption(jsonOption())

/** `name=value`; the value is JSON where it parses, else text. */
const collectClaim = (written: string, before: JsonObject = {}): JsonObject => {
  const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(written) ?? []
  if (name === undefined) throw new InvalidArgumentError('Write name=value.')
  if (name === 'sub') throw new InvalidArgumentError('The subject has an option of its own, --sub.')
  return { ...before, [name]: parseValue(value) }
}

const parseValue = (value: string): JsonObject[string] => {
  try {
    return JSON.parse(value) as JsonObject[string]
  } catch {
    return value
  }
}
