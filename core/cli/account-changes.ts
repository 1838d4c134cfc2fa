import type { Config } from '../../config/schema.js'
import { collections } from '../host/collections.js'
import { endSubjectIn } from '../host/end-subject.js'
import type { Stores } from '../host/stores.js'
import type { AccountRecord } from '../interaction/account-directory.js'
import {
  changePassword,
  openAccountStore,
  removeAccount,
  setDisabled,
  type AccountStore,
} from '../interaction/accounts.js'
import { removeExternalAccount } from '../interaction/external-accounts.js'
import { createPasswordHasher } from '../interaction/password-hasher.js'
import { canonicalUsername } from '../interaction/username.js'
import type { EndSubject } from '../oauth/subject-end.js'
import { personFactorsIn } from './account-factors.js'
import type { AccountOptions } from './accounts.js'
import { readDeployment, recordChange, withStores } from './deployment.js'
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
}

/** `signet accounts set-password`. The password comes from the terminal or standard input, never from the arguments. */
export const setPasswordOf = async (username: string, options: SetPasswordOptions): Promise<void> => {
  const config = await readChangeable(username, options)
  const password = await (options.passwordStdin ? readPassword() : askPassword())
  const changed = await changeAccount(config, 'set_password', username, async (store, end) => {
    const change = await changePassword(store, createPasswordHasher(), { username, password }, end)
    if (change.outcome === 'refused') throw new CommandFailed(change.reason)
    return change.outcome === 'changed' ? change.account : undefined
  })
  report(`Changed the password of ${username}`, changed, 'password_changed', options)
}

/** `signet accounts disable` and `enable`. */
export const setDisabledOf = async (username: string, disabled: boolean, options: AccountOptions): Promise<void> => {
  const config = await readChangeable(username, options)
  const [action, done] = disabled ? (['disable', 'Disabled'] as const) : (['enable', 'Enabled'] as const)
  const changed = await changeAccount(config, action, username, (store, end) =>
    setDisabled(store, username, disabled, end),
  )
  report(`${done} ${username}`, changed, `${action}d`, options)
}

const inConfiguration = 'This account is in the configuration: change it there, and reload.'

/** Throws `CommandFailed` for an account that the store cannot change. */
const readChangeable = async (username: string, options: AccountOptions): Promise<Config> => {
  const config = await readDeployment(options)
  const name = canonicalUsername(username)
  if (config.accounts.some((one) => canonicalUsername(one.username) === name)) throw new CommandFailed(inConfiguration)
  return config
}

const changeAccount = async (
  config: Config,
  action: string,
  username: string,
  change: (store: AccountStore, end: EndSubject, stores: Stores) => Promise<AccountRecord | undefined>,
): Promise<AccountRecord> => {
  const changed = await recordChange(config, { action: `account.${action}`, username }, () =>
    withStores(config, async (stores) => {
      const end = endSubjectIn(stores, config, Date.now)
      return (await change(openAccountStore(stores.records), end, stores)) ?? false
    }),
  )
  if (changed === false) throw new CommandFailed('There is no such account in the store.')
  return changed
}

const report = (sentence: string, { username, sub }: AccountRecord, state: string, { json }: AccountOptions): void =>
  json ? printJson({ username, sub, state }) : print(sentence)
