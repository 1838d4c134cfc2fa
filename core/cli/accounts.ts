import { addAccount, listAccounts, openAccountStore, removeAccount } from '../interaction/accounts.js'
import { createPasswordHasher } from '../interaction/password-hasher.js'
import { canonicalUsername } from '../interaction/username.js'
import type { JsonObject } from '../json.js'
import {
  changeStores,
  listAll,
  readDeployment,
  recordChange,
  withStores,
  type DeploymentOptions,
} from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson, printTable } from './output.js'
import { askPassword, readPassword } from './password.js'

export interface ListAccountsOptions extends DeploymentOptions {
  readonly json?: true
}

/** `signet accounts list`. */
export const printAccounts = async (options: ListAccountsOptions): Promise<void> => {
  const config = await readDeployment(options)
  const stored = await withStores(config, async ({ records }) => {
    const store = openAccountStore(records)
    return await listAll(
      (after) => listAccounts(store, after),
      (account) => account.username,
    )
  })
  const rows = [
    ...config.accounts.map((account) => ({ ...account, source: 'configuration', disabled: false })),
    ...stored.map((account) => ({ ...account, source: 'store', disabled: account.disabled ?? false })),
  ].map(({ username, sub, source, disabled, claims }) => ({ username, sub, source, disabled, claims }))
  if (options.json) return printJson(rows)
  printTable(
    ['USERNAME', 'SUB', 'SOURCE', 'STATE', 'CLAIMS'],
    rows.map((row) => [
      row.username,
      row.sub,
      row.source,
      row.disabled ? 'disabled' : 'active',
      Object.keys(row.claims).join(' '),
    ]),
  )
}

export interface AddAccountOptions extends DeploymentOptions {
  readonly passwordStdin?: true
  readonly sub?: string
  readonly claim: JsonObject
}

/** `signet accounts add`. The password comes from the terminal or standard input, never from the arguments. */
export const addAccountTo = async (username: string, options: AddAccountOptions): Promise<void> => {
  const config = await readDeployment(options)
  const { sub, claim: claims } = options
  const name = canonicalUsername(username)
  const fixed = config.accounts.some((one) => canonicalUsername(one.username) === name || one.sub === sub)
  if (fixed) throw new CommandFailed('The configuration has an account of this username or subject.')
  const password = await (options.passwordStdin ? readPassword() : askPassword())
  const added = { username, password, claims, ...(sub !== undefined && { sub }) }
  const account = await recordChange(config, { action: 'account.add', username }, () =>
    withStores(config, async ({ records }) => {
      const result = await addAccount(openAccountStore(records), createPasswordHasher(), added)
      if (result.outcome === 'refused') throw new CommandFailed(result.reason)
      return result.account
    }),
  )
  print(`Added ${account.username}, sub ${account.sub}`)
}

/** `signet accounts remove`. */
export const removeAccountFrom = async (username: string, options: DeploymentOptions): Promise<void> => {
  const config = await readDeployment(options)
  const removed = await changeStores(config, { action: 'account.remove', username }, ({ records }) =>
    removeAccount(openAccountStore(records), username),
  )
  const name = canonicalUsername(username)
  if (removed) print(`Removed ${username}`)
  else if (config.accounts.some((one) => canonicalUsername(one.username) === name))
    throw new CommandFailed('This account is in the configuration: remove it there.')
  else throw new CommandFailed('There is no such account in the store.')
}
