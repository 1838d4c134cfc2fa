import { InvalidArgumentError, Option, type Command } from 'commander'
import { longestLink } from '../interaction/recovery/recovery-links.js'
import type { JsonObject } from '../json.js'
import type { SetPasswordOptions, UpdateAccountOptions } from './account-changes.js'
import type { AccountOptions, AddAccountOptions, ListAccountsOptions } from './accounts.js'
import { addTarget, collect, configOption, jsonOption, parseDuration, wideOption } from './options.js'
import type { ImportOptions } from './import/import-accounts.js'
import { importFormats } from './import/formats.js'
import type { WhoOptions } from './person.js'
import type { CopyOptions } from './person-copy.js'
import type { RecoverOptions } from './recover.js'

/** Adds the commands for accounts. */
export const addAccountCommands = (accounts: Command): void => {
  addTarget(accounts.command('list'))
    .description('list all accounts, of the configuration, of the store and of people who sign in elsewhere')
    .option('--method <id>', 'only people whom this sign-in method brings')
    .addOption(jsonOption())
    .addOption(wideOption())
    .action(async (options: ListAccountsOptions) => (await import('./accounts.js')).printAccounts(options))
  ofAccountOrPerson(
    accounts.command('show').description('show an account, without its password').argument('[username]'),
  ).action(async (username: string | undefined, options: WhoOptions, command: Command) =>
    (await import('./accounts.js')).printAccount(nameOne(username, options, command)),
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
  accounts
    .command('import')
    .description('import the accounts of another product, with their hashed passwords; what exists stays as it is')
    .argument('<file>', 'CSV, JSON lines, an LDIF, or an export of Keycloak, Auth0 or Firebase')
    .addOption(new Option('--format <format>', 'default: by the name of the file').choices(importFormats))
    .option('--firebase-hash-config <file>', 'the hash parameters of a project of Firebase, as its console shows them')
    .option('--dry-run', 'check everything, and change nothing')
    .addOption(configOption())
    .addOption(jsonOption())
    .action(async (file: string, options: ImportOptions) =>
      (await import('./import/import-accounts.js')).importAccountsFrom(file, options),
    )
  addTarget(accounts.command('export'))
    .description('print everything that is stored of a person, without secrets')
    .requiredOption('--subject <sub>', 'the subject of the person')
    .addOption(jsonOption())
    .action(async (options: CopyOptions) => (await import('./person-copy.js')).printCopy(options))
  oneAccount(accounts, 'set-password', 'change a password; sessions and tokens of the old one end at once')
    .addOption(configOption())
    .option('--password-stdin', 'read the password from standard input')
    .option('--factors', 'remove passkeys, the authenticator app and recovery codes, too; default: print what remains')
    .action(async (username: string, options: SetPasswordOptions) =>
      (await import('./account-changes.js')).setPasswordOf(username, options),
    )
  addTarget(oneAccount(accounts, 'update', 'change claims or the username of an account in the store; it ends nothing'))
    .option('--claim <name=value>', 'set a claim, as JSON or text; may be repeated', collectClaim)
    .option('--unset <name>', 'remove a claim; may be repeated', collect)
    .option('--username <username>', 'the new username')
    .action(async (username: string, options: UpdateAccountOptions) =>
      (await import('./account-changes.js')).updateAccountOf(username, options),
    )
  addTarget(
    oneAccount(accounts, 'disable', 'disable sign-in with an account; its sessions and tokens end at once'),
  ).action(async (username: string, options: AccountOptions) =>
    (await import('./account-changes.js')).setDisabledOf(username, true, options),
  )
  addTarget(oneAccount(accounts, 'enable', 'enable a disabled account; the person has to sign in again')).action(
    async (username: string, options: AccountOptions) =>
      (await import('./account-changes.js')).setDisabledOf(username, false, options),
  )
  withSub(
    accounts
      .command('remove')
      .description(
        'remove an account of the store, or of somebody who signs in elsewhere: sessions, tokens and factors end with it',
      )
      .argument('[username]')
      .addOption(configOption()),
  ).action(async (username: string | undefined, options: WhoOptions, command: Command) =>
    (await import('./account-changes.js')).removeWhom(nameOne(username, options, command)),
  )
  ofAccountOrPerson(
    accounts
      .command('factors')
      .description('list the passkeys, one-time passwords and recovery codes of a person')
      .argument('[username]'),
  )
    .addOption(wideOption())
    .action(async (username: string | undefined, options: WhoOptions, command: Command) =>
      (await import('./account-factors.js')).printFactors(nameOne(username, options, command)),
    )
  ofAccountOrPerson(
    accounts
      .command('remove-factor')
      .description('remove a factor of a person, by its id in `accounts factors`')
      .argument('<factor>')
      .argument('[username]'),
  ).action(async (factor: string, username: string | undefined, options: WhoOptions, command: Command) =>
    (await import('./account-factors.js')).removeFactorFrom(factor, nameOne(username, options, command)),
  )
  ofAccountOrPerson(
    accounts
      .command('recover')
      .description('print a link, once, with which a person who cannot sign in sets up how to')
      .argument('[username]')
      .addOption(
        new Option('--expires-in <duration>', 'how long the link is valid: 15m, 24h at the most')
          .argParser(parseLinkDuration)
          .default(3600, '1h'),
      ),
  ).action(async (username: string | undefined, options: RecoverOptions, command: Command) =>
    (await import('./recover.js')).printRecoveryLink(nameOne(username, options, command)),
  )
}

const parseLinkDuration = (written: string): number => {
  const seconds = parseDuration(written)
  if (seconds > longestLink) throw new InvalidArgumentError('A link is valid for 24h at the most.')
  return seconds
}

const withSub = (command: Command): Command =>
  command.option('--sub <sub>', 'the subject of a person, instead of a username').addOption(jsonOption())

const ofAccountOrPerson = (command: Command): Command => addTarget(withSub(command))

const nameOne = <Options extends WhoOptions>(
  username: string | undefined,
  options: Options,
  command: Command,
): Options => {
  if ((username === undefined) === (options.sub === undefined)) command.error('error: give a username or --sub')
  return { ...options, ...(username !== undefined && { username }) }
}

const oneAccount = (accounts: Command, name: string, description: string): Command =>
  accounts.command(name).description(description).argument('<username>').addOption(jsonOption())

/** Reads `name=value`. The value is JSON if it parses as JSON, and otherwise text. */
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
