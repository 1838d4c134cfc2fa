import { endSubjectIn } from '../collections/person-records.js'
import { openAccountStore } from '../interaction/accounts.js'
import { updateAccount as updateInStore } from '../interaction/update-account.js'
import type { JsonObject } from '../json.js'
import { mergePatch } from './merge-patch.js'
import {
  setAccountDisabled,
  setPassword,
  warningsOf,
  type AccountRefusal,
  type InvalidAccount,
  type NewPassword,
  type ReconciledAccount,
  type WrittenAccount,
} from './account-changes.js'
import { findConfiguredAccount, findPerson, isVersion, personEtag, type FoundPerson } from './accounts.js'
import { change, type Administration, type Operator, type Refusal } from './administration.js'

/** `external`: an external service has the account, and only that can change it. */
export type PersonRefusal = AccountRefusal | Refusal<'external' | 'changed_meanwhile'>

/** Changes of a person; members that are absent stay. */
export interface PersonPatch {
  readonly sub: string
  /** The version that was read (`personEtag`). */
  readonly ifMatch: string
  /** A merge patch (RFC 7396). */
  readonly claims?: JsonObject | undefined
  readonly username?: string | undefined
  readonly disabled?: boolean | undefined
}

/** An account of the configuration, and those of the store. */
type Account = FoundPerson & { readonly username: string; readonly source: 'configuration' | 'store' }

const findAccountOf = async (
  administration: Administration,
  sub: string,
): Promise<Account | Refusal<'unknown' | 'external'>> => {
  const person = await findPerson(administration, { sub })
  if ('refused' in person || person.source === undefined) return { refused: 'unknown' }
  const { username, source } = person
  if (source === 'external' || username === undefined) return { refused: 'external' }
  return { ...person, username, source }
}

const patchStored = (
  administration: Administration,
  by: Operator,
  { username: known, ...account }: Account,
  { sub, ifMatch, claims, username, disabled }: PersonPatch,
): Promise<WrittenAccount | PersonRefusal | InvalidAccount | Refusal<'taken' | 'username_taken'>> => {
  const { config, stores, clock } = administration
  const what = {
    ...{ action: 'account.update', sub, username: known },
    ...(claims !== undefined && { claims: Object.keys(claims) }),
    ...(username !== undefined && { new_username: username }),
    ...(disabled !== undefined && { before: { disabled: account.disabled === true }, after: { disabled } }),
  }
  return change(administration, by, what, async () => {
    const result = await updateInStore(openAccountStore(stores.records), known, {
      ...(claims !== undefined && { claims: (before) => mergePatch(before, claims) }),
      ...{ username, disabled, isMeant: isVersion({ sub, ifMatch }) },
    })
    if (result.outcome === 'invalid') return { refused: 'invalid', reason: result.reason }
    if (result.outcome !== 'updated') return { refused: result.outcome }
    if (disabled === true) await endSubjectIn(stores, config, clock)(sub)
    return { username: result.account.username, sub, warnings: warningsOf(config, claims ?? {}) }
  })
}

/**
 * Changes the account of a person, if it is still the version that was read. Only disabling ends what the person has
 * opened. The audit log has the names of changed claims and not their values. An account of the configuration can only
 * be disabled and enabled. Throws `Unavailable`.
 */
export const patchPerson = async (
  administration: Administration,
  by: Operator,
  patch: PersonPatch,
): Promise<WrittenAccount | PersonRefusal | InvalidAccount | Refusal<'empty' | 'taken' | 'username_taken'>> => {
  const { sub, ifMatch, claims, username, disabled } = patch
  if (claims === undefined && username === undefined && disabled === undefined) return { refused: 'empty' }
  const account = await findAccountOf(administration, sub)
  if ('refused' in account) return account
  if (personEtag(account) !== ifMatch) return { refused: 'changed_meanwhile' }
  const isTaken = username !== undefined && findConfiguredAccount(administration.config, username) !== undefined
  if (account.source === 'store')
    return isTaken ? { refused: 'taken' } : patchStored(administration, by, account, patch)
  if (claims !== undefined || username !== undefined || disabled === undefined) return { refused: 'configured' }
  const changed = await setAccountDisabled(administration, by, { username: account.username, disabled })
  return 'refused' in changed ? changed : { username: changed.username, sub, warnings: [] }
}

/** Disables the account of a person, which ends what it had opened, or enables it again. Throws `Unavailable`. */
export const setPersonDisabled = async (
  administration: Administration,
  by: Operator,
  { sub, disabled }: { readonly sub: string; readonly disabled: boolean },
): Promise<ReconciledAccount | Refusal<'unknown' | 'external'>> => {
  const account = await findAccountOf(administration, sub)
  if ('refused' in account) return account
  return setAccountDisabled(administration, by, { username: account.username, sub, disabled })
}

/** Does for a person what `setPassword` does for an account. Throws `Unavailable`. */
export const setPasswordOfPerson = async (
  administration: Administration,
  by: Operator,
  { sub, ...input }: Omit<NewPassword, 'username'> & { readonly sub: string },
): Promise<ReconciledAccount | AccountRefusal | InvalidAccount | Refusal<'external'>> => {
  const account = await findAccountOf(administration, sub)
  if ('refused' in account) return account
  return setPassword(administration, by, { ...input, username: account.username, sub })
}
