import type { Config } from '../../config/schema.js'
import type { Stores } from '../collections/stores.js'
import { collections } from '../collections/collections.js'
import type { AccountRecord } from '../interaction/account-directory.js'
import { configuredAccountId, findAccount, openAccountStore, type AccountStore } from '../interaction/accounts.js'
import { findExternalAccount, type ExternalAccount } from '../interaction/external-accounts.js'
import { canonicalUsername } from '../interaction/username.js'
import type { JsonObject } from '../json.js'
import type { DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'

/** Names a person: an account by its username, or anybody by `sub`, whichever method signs them in. */
export interface WhoOptions extends DeploymentOptions {
  readonly username?: string
  readonly sub?: string
  readonly json?: true
}

/** Where the account of a person is; `external`: what the sign-in method `method` learned last. */
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

/** The same, as the audit log has it. */
export const whose = ({ username, sub }: WhoOptions) => ({
  ...(username !== undefined && { username }),
  ...(sub !== undefined && { sub }),
})

/** Of the configuration or the store, without the password. */
export const accountPerson = (
  { sub, username, claims, disabled = false }: Omit<AccountRecord, 'password_hash'>,
  source: AccountSource,
): FoundPerson => ({ sub, username, source, disabled, claims })

/** Of the configuration, disabled also where an operator has done so in the store. Throws `Unavailable`. */
export const configuredPerson = async (
  { disabled }: Pick<AccountStore, 'disabled'>,
  account: Omit<AccountRecord, 'password_hash'>,
): Promise<FoundPerson> => {
  const isDisabled = account.disabled === true || (await disabled.find(configuredAccountId(account.sub))) !== undefined
  return accountPerson({ ...account, disabled: isDisabled }, 'configuration')
}

export const externalPerson = ({ subject: sub, method, claims = {} }: ExternalAccount): FoundPerson => ({
  ...{ sub, source: 'external', method, claims },
})

const findBySub = async (config: Config, stores: Stores, sub: string): Promise<FoundPerson> => {
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

/** Throws `CommandFailed` for a username that no account has; `Unavailable`. */
export const findPerson = async (
  config: Config,
  stores: Stores,
  { username = '', sub }: WhoOptions,
): Promise<FoundPerson> => {
  if (sub !== undefined) return findBySub(config, stores, sub)
  const name = canonicalUsername(username)
  const configured = config.accounts.find((one) => canonicalUsername(one.username) === name)
  if (configured !== undefined) return configuredPerson(openAccountStore(stores.records), configured)
  const found = await findAccount(openAccountStore(stores.records), username)
  if (found !== undefined) return accountPerson(found.account, 'store')
  throw new CommandFailed('There is no such account. People of other sign-in methods have --sub.')
}
