import type { Config } from '../../config/schema.js'
import { collections } from '../host/collections.js'
import { findFaultyClaims, findUnreleased, unreleased } from '../checks/claim-rules.js'
import { endSubjectIn } from '../host/end-subject.js'
import type { Stores } from '../host/stores.js'
import type { AccountRecord } from '../interaction/account-directory.js'
import { addAccount, findAccount, listAccounts, openAccountStore } from '../interaction/accounts.js'
import { createPasswordHasher } from '../interaction/password-hasher.js'
import { canonicalUsername } from '../interaction/username.js'
import type { JsonObject } from '../json.js'
import { personFactorsIn } from './account-factors.js'
import { describeState, findClient, isConfigured } from './clients.js'
import { listAll, readDeployment, recordChange, withStores, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printError, printJson, printYaml } from './output.js'
import { printList } from './table.js'
import { askPassword, readPassword } from './password.js'

export interface AccountOptions extends DeploymentOptions {
  readonly json?: true
}

/** `signet accounts list`. */
export const printAccounts = async (options: AccountOptions): Promise<void> => {
  const config = await readDeployment(options)
  const stored = await withStores(config, async ({ records }) => {
    const store = openAccountStore(records)
    return await listAll(
      (after) => listAccounts(store, after),
      (account) => account.username,
    )
  })
  const rows = [
    ...config.accounts.map((account) => describe(account, 'configuration')),
    ...stored.map((account) => describe(account, 'store')),
  ]
  if (options.json) return printJson(rows)
  printList(
    'accounts',
    ['USERNAME', 'SUB', 'SOURCE', 'STATE', 'CLAIMS'],
    rows.map((row) => [row.username, row.sub, row.source, describeState(row), Object.keys(row.claims).join(' ')]),
  )
}

/** `signet accounts show`. */
export const printAccount = async (username: string, options: AccountOptions): Promise<void> => {
  const config = await readDeployment(options)
  const configured = config.accounts.find((one) => canonicalUsername(one.username) === canonicalUsername(username))
  const found = await withStores(config, ({ records }) => findAccount(openAccountStore(records), username))
  const account = configured ?? found?.account
  if (account === undefined) throw new CommandFailed('There is no such account.')
  const shown = describe(account, configured ? 'configuration' : 'store')
  if (options.json) printJson(shown)
  else printYaml(shown)
}

const describe = (
  { username, sub, claims, disabled = false }: Omit<AccountRecord, 'password_hash'>,
  source: 'configuration' | 'store',
) => ({ username, sub, source, disabled, claims })

const isClient = async (config: Config, stores: Stores, id: string): Promise<boolean> =>
  isConfigured(config, id) || (await findClient(collections(stores).clients, id)) !== undefined

export interface AddAccountOptions extends AccountOptions {
  readonly passwordStdin?: true
  readonly sub?: string
  readonly claim?: JsonObject
}

/** `signet accounts add`. The password comes from the terminal or standard input, never from the arguments. */
export const addAccountTo = async (username: string, options: AddAccountOptions): Promise<void> => {
  const config = await readDeployment(options)
  const { sub, claim: claims = {} } = options
  const name = canonicalUsername(username)
  const fixed = config.accounts.some((one) => canonicalUsername(one.username) === name || one.sub === sub)
  if (fixed) throw new CommandFailed('The configuration has an account with this username or subject.')
  const password = await (options.passwordStdin ? readPassword() : askPassword())
  const added = { username, password, claims, ...(sub !== undefined && { sub }) }
  const account = await recordChange(config, { action: 'account.add', username }, () =>
    withStores(config, async (stores) => {
      if (sub !== undefined && (await isClient(config, stores, sub)))
        throw new CommandFailed(
          'There is a client with this id: its tokens would have the same sub (RFC 9700 section 4.15).',
        )
      const result = await addAccount(openAccountStore(stores.records), createPasswordHasher(), added)
      if (result.outcome === 'refused') throw new CommandFailed(result.reason)
      // What another account of this subject may have left behind is nothing of the new one's.
      if (sub !== undefined) {
        await endSubjectIn(stores, config, Date.now)(sub)
        await personFactorsIn(stores).removeAll(sub)
      }
      return result.account
    }),
  )
  for (const name of findUnreleased(config, claims)) printError(`warning: claim ${name}: ${unreleased}`)
  for (const [name, fault] of findFaultyClaims(claims)) printError(`warning: claim ${name}: ${fault}`)
  if (options.json) return printJson({ username: account.username, sub: account.sub, state: 'added' })
  print(`Added ${account.username}, sub ${account.sub}`)
}
