import type { Config } from '../../config/schema.js'
import { collections } from '../collections/collections.js'
import { endSubjectIn } from '../collections/person-records.js'
import type { Stores } from '../collections/stores.js'
import type { AccountRecord } from '../interaction/account-directory.js'
import {
  changePassword,
  openAccountStore,
  setConfiguredDisabled,
  removeAccount,
  setDisabled,
  type AccountStore,
} from '../interaction/accounts.js'
import { removeExternalAccount } from '../interaction/external-accounts.js'
import { createPasswordHasher } from '../interaction/password-hasher.js'
import { updateAccount } from '../interaction/update-account.js'
import { canonicalUsername } from '../interaction/username.js'
import type { JsonObject, JsonValue } from '../json.js'
import type { EndSubject } from '../oauth/subject-end.js'
import {
  factorsInJson,
  personFactorsIn,
  printFactorsAfter,
  settleFactors,
  type FactorsAfter,
} from './account-factors.js'
import { warnOfClaims, type AccountOptions } from './accounts.js'
import { readDeployment, recordChange, withStores, type NoteChange } from './deployment.js'
import { CommandFailed } from './failure.js'
import { findPerson, type WhoOptions } from './find-person.js'
import { print, printJson } from './output.js'
import { askPassword, readPassword } from './password.js'
import { counted } from './person.js'

/** `signet accounts remove USERNAME`. */
const removeAccountFrom = async (username: string, options: AccountOptions): Promise<void> => {
  const config = await readChangeable(username, options)
  const removed = await changeAccount(config, 'remove', username, async (store, end, stores) => {
    const account = await removeAccount(store, username, end)
    // After the account: a sign-in with one of them no longer finds it.
    if (account) await personFactorsIn(stores).removeAll(account.sub)
    return account
  })
  report(`Removed ${username}`, removed, 'removed', options)
}

/** `signet accounts remove`. */
export const removeWhom = async ({ username, sub = '', ...options }: WhoOptions): Promise<void> => {
  if (username !== undefined) return removeAccountFrom(username, options)
  const config = await readDeployment(options)
  const known = await withStores(config, (stores) => findPerson(config, stores, { sub, ...options }))
  if (known.source === 'configuration') throw new CommandFailed(inConfiguration)
  if (known.source === 'store' && known.username !== undefined) return removeAccountFrom(known.username, options)
  const removed = await recordChange(config, { action: 'account.remove', sub }, () =>
    withStores(config, async (stores) => {
      const end = endSubjectIn(stores, config, Date.now)
      // Before and after: a command that fails half way can be repeated, and nobody signs in between the two and stays.
      if (known.source === 'external') await end(sub)
      const account = await removeExternalAccount(collections(stores).externalAccounts, sub)
      if (account !== undefined) await end(sub)
      // Somebody whose account has gone may have left some.
      const factors = await personFactorsIn(stores).removeAll(sub)
      return account === undefined && factors.length === 0
        ? false
        : { method: account?.method, factors: factors.length }
    }),
  )
  if (removed === false) throw new CommandFailed('This subject has no account here, and no factors.')
  const { method, factors } = removed
  if (options.json) return printJson({ sub, ...(method !== undefined && { method }), factors, state: 'removed' })
  print(method === undefined ? `Removed ${counted(factors, 'factor')} of ${sub}` : `Removed ${sub} (${method})`)
}

export interface SetPasswordOptions extends AccountOptions {
  readonly passwordStdin?: true
  /** Removes passkeys, the authenticator app and recovery codes, too. */
  readonly factors?: true
}

/** `signet accounts set-password`. The password comes from the terminal or standard input, never from the arguments. */
export const setPasswordOf = async (username: string, options: SetPasswordOptions): Promise<void> => {
  const config = await readChangeable(username, options)
  const password = await (options.passwordStdin ? readPassword() : askPassword())
  let after: FactorsAfter | undefined
  const changed = await changeAccount(config, 'set_password', username, async (store, end, stores, note) => {
    const change = await changePassword(store, createPasswordHasher(), { username, password }, end)
    if (change.outcome === 'refused') throw new CommandFailed(change.reason)
    if (change.outcome === 'unknown') return undefined
    after = await settleFactors(stores, change.account.sub, options.factors === true, note)
    return change.account
  })
  report(`Changed the password of ${username}`, changed, 'password_changed', options, after)
}

/**
 * `signet accounts disable` and `enable`. An account of the configuration is disabled in the store, whatever its file says, until it is
 * enabled again.
 */
export const setDisabledOf = async (username: string, disabled: boolean, options: AccountOptions): Promise<void> => {
  const config = await readDeployment(options)
  const configured = findConfigured(config, username)
  const [action, done] = disabled ? (['disable', 'Disabled'] as const) : (['enable', 'Enabled'] as const)
  let after: FactorsAfter | undefined
  const changed = await changeAccount(config, action, username, async (store, end, stores, note) => {
    if (configured !== undefined) await setConfiguredDisabled(store, configured.sub, disabled, end)
    const account = configured ?? (await setDisabled(store, username, disabled, end))
    if (account !== undefined) after = await settleFactors(stores, account.sub, false, note)
    return account
  })
  report(`${done} ${username}`, changed, `${action}d`, options, after)
}

export interface UpdateAccountOptions extends AccountOptions {
  readonly claim?: JsonObject
  readonly unset?: readonly string[]
  readonly username?: string
}

/** `signet accounts update`: claims and the username. It ends nothing; the audit log has the names of the claims, not what they say. */
export const updateAccountOf = async (username: string, options: UpdateAccountOptions): Promise<void> => {
  const { claim: claims = {}, unset = [], username: next } = options
  const names = Object.keys(claims)
  if (names.length + unset.length === 0 && next === undefined)
    throw new CommandFailed('There is nothing to change: see --help.')
  if (unset.some((name) => names.includes(name))) throw new CommandFailed('A claim is either set or unset.')
  const config = await readChangeable(username, options)
  if (next !== undefined && findConfigured(config, next))
    throw new CommandFailed('The configuration has an account with this username or subject.')
  const told = {
    ...(names.length > 0 && { claims: names }),
    ...(unset.length > 0 && { claims_unset: unset }),
    ...(next !== undefined && { new_username: next }),
  }
  const change = { claims, unset, ...(next !== undefined && { username: next }) }
  const changed = await changeAccount(
    config,
    'update',
    username,
    async (store) => {
      const result = await updateAccount(store, username, change)
      if (result.outcome === 'refused') throw new CommandFailed(result.reason)
      return result.outcome === 'updated' ? result.account : undefined
    },
    told,
  )
  warnOfClaims(config, claims)
  report(`Updated ${changed.username}`, changed, 'updated', options)
}

const inConfiguration = 'This account is in the configuration: change it there, and reload.'

/** Throws `CommandFailed` for an account that the store cannot change. */
const readChangeable = async (username: string, options: AccountOptions): Promise<Config> => {
  const config = await readDeployment(options)
  if (findConfigured(config, username)) throw new CommandFailed(inConfiguration)
  return config
}

const findConfigured = ({ accounts }: Config, username: string) => {
  const name = canonicalUsername(username)
  return accounts.find((one) => canonicalUsername(one.username) === name)
}

type Named = Pick<AccountRecord, 'username' | 'sub'>

const changeAccount = async (
  config: Config,
  action: string,
  username: string,
  change: (store: AccountStore, end: EndSubject, stores: Stores, note: NoteChange) => Promise<Named | undefined>,
  more: Readonly<Record<string, JsonValue>> = {},
): Promise<Named> => {
  const changed = await recordChange(config, { action: `account.${action}`, username, ...more }, (note) =>
    withStores(config, async (stores) => {
      const end = endSubjectIn(stores, config, Date.now)
      return (await change(openAccountStore(stores.records), end, stores, note)) ?? false
    }),
  )
  if (changed === false) throw new CommandFailed('There is no such account in the store.')
  return changed
}

const report = (
  sentence: string,
  { username, sub }: Named,
  state: string,
  { json }: AccountOptions,
  after?: FactorsAfter,
): void => {
  if (json) return printJson({ username, sub, state, ...(after && factorsInJson(after)) })
  print(sentence)
  if (after) printFactorsAfter(after, `signet people end --sub ${sub}`)
}
