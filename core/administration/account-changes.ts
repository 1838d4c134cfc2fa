import type { Config } from '../../config/schema.js'
import { findFaultyClaims, findUnreleased, unreleased } from '../checks/claim-rules.js'
import { collections } from '../collections/collections.js'
import { endSubjectIn } from '../collections/person-records.js'
import type { AccountRecord, PasswordHasher } from '../interaction/account-directory.js'
import {
  addAccount as addToStore,
  changePassword,
  findAccount,
  openAccountStore,
  removeAccount as removeFromStore,
  setConfiguredDisabled,
  setDisabled,
} from '../interaction/accounts.js'
import { removeExternalAccount } from '../interaction/external-accounts.js'
import { updateAccount as updateInStore } from '../interaction/update-account.js'
import { canonicalUsername } from '../interaction/username.js'
import type { JsonObject } from '../json.js'
import { findConfiguredAccount, findPerson, isVersion, personEtag, type AccountVersion, type Who } from './accounts.js'
import { change, type Administration, type Operator, type Refusal } from './administration.js'
import { findClient } from './clients.js'
import { personFactorsIn, reconcileFactors, type FactorsAfter } from './factors.js'

export type { PasswordHasher } from '../interaction/account-directory.js'
export { isSubject } from '../interaction/accounts.js'

/** `configured`: the account is in the configuration, and only the configuration can change it. */
export type AccountRefusal = Refusal<'unknown' | 'configured'>

/** A username, a subject or a password that no account can have. `reason` is a sentence for the operator. */
export interface InvalidAccount extends Refusal<'invalid'> {
  readonly reason: string
}

export type ChangedAccount = Pick<AccountRecord, 'username' | 'sub'>

/** A claim that no client receives, and the reason. */
export interface ClaimWarning {
  readonly claim: string
  readonly message: string
}

/** An account after its claims were written. */
export interface WrittenAccount extends ChangedAccount {
  readonly warnings: readonly ClaimWarning[]
}

export const warningsOf = (config: Config, claims: JsonObject): readonly ClaimWarning[] => [
  ...findUnreleased(config, claims).map((claim) => ({ claim, message: unreleased })),
  ...findFaultyClaims(claims).map(([claim, message]) => ({ claim, message })),
]

const named = ({ username, sub }: ChangedAccount): ChangedAccount => ({ username, sub })

export interface NewAccountInput {
  readonly username: string
  /** Absent: the person signs in another way, or sets a password with a recovery link. */
  readonly password?: string | undefined
  readonly hasher: PasswordHasher
  /** The default is a random UUID. */
  readonly sub?: string | undefined
  readonly claims: JsonObject
}

/** True when the configuration has an account with this username or subject: the store cannot have another. */
export const isConfiguredAccount = (
  config: Config,
  { username, sub }: { readonly username: string; readonly sub?: string | undefined },
): boolean => {
  const name = canonicalUsername(username)
  return config.accounts.some((one) => canonicalUsername(one.username) === name || one.sub === sub)
}

/**
 * Adds an account to the store. `client`: the subject is the id of a client, and the tokens of both would have it as
 * `sub` (RFC 9700 §4.15). Throws `Unavailable`.
 */
export const addAccount = async (
  administration: Administration,
  by: Operator,
  { username, password, hasher, sub, claims }: NewAccountInput,
): Promise<WrittenAccount | InvalidAccount | Refusal<'configured' | 'client' | 'username_taken' | 'subject_taken'>> => {
  const { config, stores, clock } = administration
  if (isConfiguredAccount(config, { username, sub })) return { refused: 'configured' }
  return change(administration, by, { action: 'account.add', username }, async () => {
    if (sub !== undefined && (await findClient(administration, sub)) !== undefined) return { refused: 'client' }
    const added = { username, claims, ...(password !== undefined && { password }), ...(sub !== undefined && { sub }) }
    const result = await addToStore(openAccountStore(stores.records), hasher, added)
    if (result.outcome === 'invalid') return { refused: 'invalid', reason: result.reason }
    if (result.outcome !== 'added') return { refused: result.outcome }
    // An earlier account with this subject may have left factors behind; the new account must not inherit them.
    if (sub !== undefined) {
      await endSubjectIn(stores, config, clock)(sub)
      await personFactorsIn(stores, clock).removeAll(sub)
    }
    return { ...named(result.account), warnings: warningsOf(config, claims) }
  })
}

/** A person who was removed: an account of the store, or the record of a person who signs in elsewhere. */
export type RemovedPerson =
  | ChangedAccount
  | {
      readonly sub: string
      readonly username?: undefined
      /** The sign-in method that reported the person. */
      readonly method?: string
      /** The number of factors that were removed. */
      readonly factors: number
    }

const removeStored = async (
  administration: Administration,
  by: Operator,
  { username, ...which }: Pick<AccountVersion, 'ifMatch'> & { readonly username: string; readonly sub?: string },
): Promise<ChangedAccount | AccountRefusal | Refusal<'changed_meanwhile'>> => {
  const { config, stores, clock } = administration
  if (findConfiguredAccount(config, username) !== undefined) return { refused: 'configured' }
  return change(administration, by, { action: 'account.remove', username }, async () => {
    const end = endSubjectIn(stores, config, clock)
    const store = openAccountStore(stores.records)
    const account = await removeFromStore(store, username, end, isVersion(which))
    if (account === undefined)
      return { refused: (await findAccount(store, username)) === undefined ? 'unknown' : 'changed_meanwhile' }
    // The factors are removed after the account, so a sign-in with one of them no longer finds it.
    await personFactorsIn(stores, clock).removeAll(account.sub)
    return named(account)
  })
}

const removeElsewhere = (
  administration: Administration,
  by: Operator,
  { sub, isKnown }: { readonly sub: string; readonly isKnown: boolean },
): Promise<RemovedPerson | Refusal<'unknown'>> => {
  const { config, stores, clock } = administration
  return change(administration, by, { action: 'account.remove', sub }, async () => {
    const end = endSubjectIn(stores, config, clock)
    // The person's access ends before and after the removal. A removal that fails half way can be repeated, and a
    // sign-in between the two does not last.
    if (isKnown) await end(sub)
    const account = await removeExternalAccount(collections(stores).externalAccounts, sub)
    if (account !== undefined) await end(sub)
    // A person whose account is gone may have left factors.
    const factors = await personFactorsIn(stores, clock).removeAll(sub)
    if (account === undefined && factors.length === 0) return { refused: 'unknown' }
    return { sub, ...(account !== undefined && { method: account.method }), factors: factors.length }
  })
}

/**
 * Removes an account of the store, or the record of a person who signs in elsewhere. Sessions, tokens and factors end
 * with it. Throws `Unavailable`.
 */
export const removeAccount = async (
  administration: Administration,
  by: Operator,
  { ifMatch, ...who }: Who & Pick<AccountVersion, 'ifMatch'>,
): Promise<RemovedPerson | AccountRefusal | Refusal<'changed_meanwhile'>> => {
  if (who.sub === undefined) return removeStored(administration, by, { username: who.username, ifMatch })
  const known = await findPerson(administration, who)
  if ('refused' in known) return known
  if (known.source === 'configuration') return { refused: 'configured' }
  if (known.source === 'store' && known.username !== undefined)
    return removeStored(administration, by, { username: known.username, sub: who.sub, ifMatch })
  if (ifMatch !== undefined && personEtag(known) !== ifMatch) return { refused: 'changed_meanwhile' }
  return removeElsewhere(administration, by, { sub: who.sub, isKnown: known.source === 'external' })
}

/** An account that was changed, and the other factors that its person can sign in with. */
export interface ReconciledAccount extends ChangedAccount {
  readonly factors: FactorsAfter
}

export interface NewPassword {
  readonly username: string
  /** The account with this username must have this subject, if it is given. */
  readonly sub?: string | undefined
  readonly password: string
  readonly hasher: PasswordHasher
  readonly removeFactors: boolean
}

/**
 * Changes a password and ends what sign-ins with the old one have opened. `invalid`: the password is weak. Throws
 * `Unavailable`.
 */
export const setPassword = async (
  administration: Administration,
  by: Operator,
  { username, password, hasher, removeFactors, ...which }: NewPassword,
): Promise<ReconciledAccount | AccountRefusal | InvalidAccount> => {
  const { config, stores, clock } = administration
  if (findConfiguredAccount(config, username) !== undefined) return { refused: 'configured' }
  return change(administration, by, { action: 'account.set_password', username }, async (note) => {
    const end = endSubjectIn(stores, config, clock)
    const changed = await changePassword(
      openAccountStore(stores.records),
      hasher,
      { username, password, isMeant: isVersion(which) },
      end,
    )
    if (changed.outcome === 'unknown') return { refused: 'unknown' }
    if (changed.outcome === 'invalid') return { refused: 'invalid', reason: changed.reason }
    const { sub } = changed.account
    const factors = await reconcileFactors(administration, by, { sub, remove: removeFactors }, note)
    return { ...named(changed.account), factors }
  })
}

/**
 * Disables an account, which ends what it had opened, or enables it again. An account of the configuration is
 * disabled in the store, whatever its file says, until it is enabled again. Throws `Unavailable`.
 */
export const setAccountDisabled = (
  administration: Administration,
  by: Operator,
  { username, sub, disabled }: { readonly username: string; readonly sub?: string; readonly disabled: boolean },
): Promise<ReconciledAccount | Refusal<'unknown'>> => {
  const { config, stores, clock } = administration
  const what = { action: disabled ? 'account.disable' : 'account.enable', username }
  return change(administration, by, what, async (note) => {
    const end = endSubjectIn(stores, config, clock)
    const store = openAccountStore(stores.records)
    const configured = findConfiguredAccount(config, username)
    if (configured !== undefined) await setConfiguredDisabled(store, configured.sub, disabled, end)
    const account = configured ?? (await setDisabled(store, { username, disabled, isMeant: isVersion({ sub }) }, end))
    if (account === undefined) return { refused: 'unknown' }
    const factors = await reconcileFactors(administration, by, { sub: account.sub, remove: false }, note)
    return { ...named(account), factors }
  })
}

export interface AccountUpdate {
  /** These claims are added, or replace existing ones. */
  readonly claims: JsonObject
  /** These claims are removed. */
  readonly unset: readonly string[]
  readonly username?: string
}

/** Checks an update on its own. `empty`: it changes nothing; `both`: it sets and unsets the same claim. */
export const findUpdateFault = ({ claims, unset, username }: AccountUpdate): 'empty' | 'both' | undefined => {
  const names = Object.keys(claims)
  if (names.length + unset.length === 0 && username === undefined) return 'empty'
  return unset.some((name) => names.includes(name)) ? 'both' : undefined
}

/**
 * Changes claims and the username of an account of the store, and ends nothing. The audit log has the names of the
 * claims and not their values. `taken`: the configuration has an account with the new username. Throws `Unavailable`.
 */
export const updateAccount = async (
  administration: Administration,
  by: Operator,
  { username, update }: { readonly username: string; readonly update: AccountUpdate },
): Promise<
  | WrittenAccount
  | AccountRefusal
  | InvalidAccount
  | Refusal<'empty' | 'both' | 'taken' | 'username_taken' | 'changed_meanwhile'>
> => {
  const { config, stores } = administration
  const fault = findUpdateFault(update)
  if (fault !== undefined) return { refused: fault }
  if (findConfiguredAccount(config, username) !== undefined) return { refused: 'configured' }
  const { claims, unset, username: next } = update
  if (next !== undefined && findConfiguredAccount(config, next) !== undefined) return { refused: 'taken' }
  const what = {
    action: 'account.update',
    username,
    ...(Object.keys(claims).length > 0 && { claims: Object.keys(claims) }),
    ...(unset.length > 0 && { claims_unset: unset }),
    ...(next !== undefined && { new_username: next }),
  }
  return change(administration, by, what, async () => {
    const result = await updateInStore(openAccountStore(stores.records), username, {
      claims: (before) => ({
        ...Object.fromEntries(Object.entries(before).filter(([name]) => !unset.includes(name))),
        ...claims,
      }),
      username: next,
    })
    if (result.outcome === 'invalid') return { refused: 'invalid', reason: result.reason }
    if (result.outcome !== 'updated') return { refused: result.outcome }
    return { ...named(result.account), warnings: warningsOf(config, claims) }
  })
}
