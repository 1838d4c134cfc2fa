import { addAccount, isConfiguredAccount, type ClaimWarning } from '../administration/account-changes.js'
import { isRefusal } from '../administration/administration.js'
import { createPasswordHasher } from '../interaction/password-hasher.js'
import type { JsonObject } from '../json.js'
import { describeState } from './clients.js'
import { administer, readDeployment, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printError, printJson, printYaml } from './output.js'
import { askPassword, readPassword } from './password.js'
import { openPeople } from './open-people.js'
import { noSuchPerson, whoOf, type WhoOptions } from './person.js'
import { printList } from './table.js'

export interface AccountOptions extends DeploymentOptions {
  readonly json?: true
}

export interface ListAccountsOptions extends AccountOptions {
  readonly method?: string
}

/** Implements `signet accounts list`. */
export const printAccounts = async ({ method, ...options }: ListAccountsOptions): Promise<void> => {
  const people = await openPeople(options)
  const rows = await people.list({ method })
  if (options.json) return printJson(rows)
  printList(
    'accounts',
    ['USERNAME', 'SUB', 'SOURCE', 'STATE', 'CLAIMS'],
    rows.map((row) => [
      row.username ?? '',
      row.sub,
      row.method === undefined ? row.source : `external (${row.method})`,
      describeState(row),
      Object.keys(row.claims).join(' '),
    ]),
  )
}

/** Implements `signet accounts show`. */
export const printAccount = async (options: WhoOptions): Promise<void> => {
  const people = await openPeople(options)
  const person = await people.find(whoOf(options))
  if (isRefusal(person))
    throw options.sub === undefined ? noSuchPerson() : new CommandFailed('There is no such account.')
  if (options.json) printJson(person)
  else printYaml(person)
}

/** Warns about claims that no client receives. */
export const printClaimWarnings = (warnings: readonly ClaimWarning[]): void => {
  for (const { claim, message } of warnings) printError(`warning: claim ${claim}: ${message}`)
}

export interface AddAccountOptions extends AccountOptions {
  readonly passwordStdin?: true
  readonly sub?: string
  readonly claim?: JsonObject
}

/** Both `add` and `update` print this. */
export const alreadyConfigured = 'The configuration has an account with this username or subject.'
export const usernameTaken = 'The username is taken.'

/** Implements `signet accounts add`. The password comes from the terminal or standard input, never from the arguments. */
export const addAccountTo = async (username: string, options: AddAccountOptions): Promise<void> => {
  const config = await readDeployment(options)
  const { sub, claim: claims = {} } = options
  // This check comes before the prompt, so that no password is typed in vain.
  if (isConfiguredAccount(config, { username, sub })) throw new CommandFailed(alreadyConfigured)
  const password = await (options.passwordStdin ? readPassword() : askPassword())
  const hasher = createPasswordHasher()
  const account = await administer(config, (administration, by) =>
    addAccount(administration, by, { username, password, hasher, sub, claims }),
  )
  if (isRefusal(account))
    throw new CommandFailed(account.refused === 'invalid' ? account.reason : notAdded[account.refused])
  printClaimWarnings(account.warnings)
  if (options.json) return printJson({ username: account.username, sub: account.sub, state: 'added' })
  print(`Added ${account.username}, sub ${account.sub}`)
}

const notAdded = {
  configured: alreadyConfigured,
  client: 'There is a client with this id: its tokens would have the same sub (RFC 9700 section 4.15).',
  username_taken: usernameTaken,
  subject_taken: 'The subject is taken.',
} as const
