import type { Config } from '../../config/schema.js'
import { collections } from '../collections/collections.js'
import type { AccountRecord } from '../interaction/account-directory.js'
import {
  configuredAccountId,
  findAccount,
  listAccounts as listStoredAccounts,
  openAccountStore,
  type AccountStore,
} from '../interaction/accounts.js'
import { findExternalAccount, listExternalAccounts, type ExternalAccount } from '../interaction/external-accounts.js'
import { canonicalUsername } from '../interaction/username.js'
import type { JsonObject } from '../json.js'
import { listAll, type Deployment, type Refusal } from './administration.js'

/** Names a person: an account by its username, or any person by `sub`, whichever method signs that person in. */
export type Who =
  { readonly username: string; readonly sub?: undefined } | { readonly sub: string; readonly username?: undefined }

/** Where an account is kept. An `external` account holds what the sign-in method `method` last reported. */
export type AccountSource = 'configuration' | 'store' | 'external'

export interface FoundPerson {
  readonly sub: string
  readonly username?: string
  /** Absent: no account has this subject here, though a plugin may know one. */
  readonly source?: AccountSource
  readonly method?: string
  readonly disabled?: boolean
  readonly claims: JsonObject
}

/** Returns the account of the configuration with this username, which the store cannot change. */
export const findConfiguredAccount = (
  { accounts }: Config,
  username: string,
): Config['accounts'][number] | undefined => {
  const name = canonicalUsername(username)
  return accounts.find((one) => canonicalUsername(one.username) === name)
}

const accountPerson = (
  { sub, username, claims, disabled = false }: Omit<AccountRecord, 'password_hash'>,
  source: AccountSource,
): FoundPerson => ({ sub, username, source, disabled, claims })

/** An operator may have disabled an account of the configuration in the store. */
const configuredPerson = async (
  { disabled }: Pick<AccountStore, 'disabled'>,
  account: Omit<AccountRecord, 'password_hash'>,
): Promise<FoundPerson> => {
  const isDisabled = account.disabled === true || (await disabled.find(configuredAccountId(account.sub))) !== undefined
  return accountPerson({ ...account, disabled: isDisabled }, 'configuration')
}

const externalPerson = ({ subject: sub, method, claims = {} }: ExternalAccount): FoundPerson => ({
  ...{ sub, source: 'external', method, claims },
})

const byMethodAndSubject = (one: FoundPerson, other: FoundPerson): number =>
  (one.method ?? '').localeCompare(other.method ?? '') || one.sub.localeCompare(other.sub)

/**
 * Lists all accounts: those of the configuration first, then those of the store, then those of people who sign in
 * elsewhere. `method`: only those that this sign-in method reports. Throws `Unavailable`.
 */
export const listAccounts = async (
  { config, stores }: Deployment,
  { method }: { readonly method?: string | undefined },
): Promise<readonly FoundPerson[]> => {
  const store = openAccountStore(stores.records)
  const stored = await listAll(
    (after) => listStoredAccounts(store, after),
    (account) => account.username,
  )
  const external = await listExternalAccounts(collections(stores).externalAccounts)
  const people = [
    ...(await Promise.all(config.accounts.map((account) => configuredPerson(store, account)))),
    ...stored.map((account) => accountPerson(account, 'store')),
    ...external.map(externalPerson).toSorted(byMethodAndSubject),
  ]
  return people.filter((one) => method === undefined || one.method === method)
}

const findBySub = async ({ config, stores }: Deployment, sub: string): Promise<FoundPerson> => {
  const configured = config.accounts.find((account) => account.sub === sub)
  const store = openAccountStore(stores.records)
  if (configured !== undefined) return configuredPerson(store, configured)
  const { accounts, subjects } = store
  const entry = await subjects.find(sub)
  const account = entry && (await accounts.find(entry.username))
  if (account?.sub === sub) return accountPerson(account, 'store')
  const external = await findExternalAccount(collections(stores).externalAccounts, sub)
  return external === undefined ? { sub, claims: {} } : externalPerson(external)
}

/**
 * Finds the person with this name. `unknown`: no account has the username. Any `sub` is accepted. Throws
 * `Unavailable`.
 */
export const findPerson = async (deployment: Deployment, who: Who): Promise<FoundPerson | Refusal<'unknown'>> => {
  if (who.sub !== undefined) return findBySub(deployment, who.sub)
  const { config, stores } = deployment
  const configured = findConfiguredAccount(config, who.username)
  if (configured !== undefined) return configuredPerson(openAccountStore(stores.records), configured)
  const found = await findAccount(openAccountStore(stores.records), who.username)
  return found === undefined ? { refused: 'unknown' } : accountPerson(found.account, 'store')
}

/** Returns the members by which the audit log names the person. */
export const whose = ({ username, sub }: Who) => ({
  ...(username !== undefined && { username }),
  ...(sub !== undefined && { sub }),
})
