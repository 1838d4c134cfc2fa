import type { Config } from '../../config/schema.js'
import { collections } from '../collections/collections.js'
import { findFaultyClaims, findUnreleased, unreleased } from '../checks/claim-rules.js'
import { endSubjectIn } from '../collections/person-records.js'
import { addAccount, listAccounts, openAccountStore } from '../interaction/accounts.js'
import { listExternalAccounts } from '../interaction/external-accounts.js'
import { createPasswordHasher } from '../interaction/password-hasher.js'
import { canonicalUsername } from '../interaction/username.js'
import type { JsonObject } from '../json.js'
import { personFactorsIn } from './account-factors.js'
import { findClient } from '../administration/clients.js'
import { describeState } from './clients.js'
import { listAll, readDeployment, recordChange, withStores, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import {
  accountPerson,
  configuredPerson,
  externalPerson,
  findPerson,
  type FoundPerson,
  type WhoOptions,
} from './find-person.js'
import { print, printError, printJson, printYaml } from './output.js'
import { printList } from './table.js'
import { askPassword, readPassword } from './password.js'

export interface AccountOptions extends DeploymentOptions {
  readonly json?: true
}

export interface ListAccountsOptions extends AccountOptions {
  readonly method?: string
}

/** `signet accounts list`. */
export const printAccounts = async ({ method, ...options }: ListAccountsOptions): Promise<void> => {
  const config = await readDeployment(options)
  const people = await withStores(config, async (stores): Promise<readonly FoundPerson[]> => {
    const store = openAccountStore(stores.records)
    const stored = await listAll(
      (after) => listAccounts(store, after),
      (account) => account.username,
    )
    const external = await listExternalAccounts(collections(stores).externalAccounts)
    return [
      ...(await Promise.all(config.accounts.map((account) => configuredPerson(store, account)))),
      ...stored.map((account) => accountPerson(account, 'store')),
      ...external.map(externalPerson).toSorted(byMethodAndSubject),
    ]
  })
  const rows = people.filter((one) => method === undefined || one.method === method).map(describe)
  if (options.json) return printJson(rows)
  printList(
    'accounts',
    ['USERNAME', 'SUB', 'SOURCE', 'STATE', 'CLAIMS'],
    rows.map((row) => [
      row.username ?? '',
      row.sub,
      row.method === undefined ? String(row.source) : `external (${row.method})`,
      describeState(row),
      Object.keys(row.claims).join(' '),
    ]),
  )
}

const byMethodAndSubject = (one: FoundPerson, other: FoundPerson): number =>
  (one.method ?? '').localeCompare(other.method ?? '') || one.sub.localeCompare(other.sub)

/** `signet accounts show`. */
export const printAccount = async (options: WhoOptions): Promise<void> => {
  const config = await readDeployment(options)
  const person = await withStores(config, (stores) => findPerson(config, stores, options))
  if (person.source === undefined) throw new CommandFailed('There is no such account.')
  if (options.json) printJson(describe(person))
  else printYaml(describe(person))
}

const describe = ({ sub, username, source, method, claims, disabled = false }: FoundPerson) => ({
  ...(username !== undefined && { username }),
  ...{ sub, source },
  ...(method !== undefined && { method }),
  ...{ disabled, claims },
})

/** Of claims that nobody gets. */
export const warnOfClaims = (config: Config, claims: JsonObject): void => {
  for (const name of findUnreleased(config, claims)) printError(`warning: claim ${name}: ${unreleased}`)
  for (const [name, fault] of findFaultyClaims(claims)) printError(`warning: claim ${name}: ${fault}`)
}

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
      if (sub !== undefined && (await findClient({ config, stores }, sub)) !== undefined)
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
  warnOfClaims(config, claims)
  if (options.json) return printJson({ username: account.username, sub: account.sub, state: 'added' })
  print(`Added ${account.username}, sub ${account.sub}`)
}
