import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../json.js'
import { hasUnseen } from '../plain-text.js'
import type { AccountRecord } from './account-directory.js'
import { findAccount, usernameRule, type AccountStore, type IsMeant } from './accounts.js'
import { canonicalUsername } from './username.js'

/** A change of an account; what is absent stays. */
export interface AccountEdit {
  /** Returns the claims that the account has after the change. */
  readonly claims?: ((before: JsonObject) => JsonObject) | undefined
  readonly username?: string | undefined
  readonly disabled?: boolean | undefined
  /** Otherwise the account was changed meanwhile. */
  readonly isMeant?: IsMeant | undefined
}

export type AccountUpdated =
  | { readonly outcome: 'updated'; readonly account: AccountRecord }
  | { readonly outcome: 'unknown' | 'username_taken' | 'changed_meanwhile' }
  /** `reason` is a sentence for the operator. */
  | { readonly outcome: 'invalid'; readonly reason: string }

/**
 * Copies an account to another name, points its subject there, then removes the old name, so that an interrupted
 * command can be repeated. Changes that others make under the old name until then are copied too.
 */
const rename = async (store: AccountStore, from: string, to: string, username: string): Promise<AccountUpdated> => {
  const { accounts, subjects } = store
  let copied: AccountRecord | undefined
  for (;;) {
    const current = await accounts.find(from)
    if (current === undefined) return { outcome: copied ? 'changed_meanwhile' : 'unknown' }
    const next = { ...current, username }
    const before = copied
    const isCopied = await accounts.update(to, (there) => {
      const mayWrite =
        there === undefined || (there.sub === next.sub && (before === undefined || isDeepStrictEqual(there, before)))
      return mayWrite ? { result: true, write: { record: next } } : { result: false }
    })
    if (!isCopied) return { outcome: before === undefined ? 'username_taken' : 'changed_meanwhile' }
    copied = next
    await subjects.put(current.sub, { username: to })
    const isOld = (account: AccountRecord | undefined) => isDeepStrictEqual(account, current)
    const isGone = await accounts.update(from, (account) =>
      isOld(account) ? { result: true, write: null } : { result: false },
    )
    if (isGone) return { outcome: 'updated', account: next }
  }
}

/**
 * Changes an account of the store. It is read, compared and changed in one atomic step, so that two concurrent changes
 * lose nothing; another username comes after that. Sessions, grants and factors stay. Throws `Unavailable`.
 */
export const updateAccount = async (
  store: AccountStore,
  username: string,
  { claims = (before) => before, username: next, disabled, isMeant = () => true }: AccountEdit,
): Promise<AccountUpdated> => {
  const to = next === undefined ? undefined : canonicalUsername(next)
  if (next !== undefined && (to === undefined || hasUnseen(next))) return { outcome: 'invalid', reason: usernameRule }
  const found = await findAccount(store, username)
  if (found === undefined) return { outcome: 'unknown' }
  const { name, account: before } = found
  const written = next?.normalize('NFC').trim()
  const isSameName = to === undefined || to === name
  if (!isSameName) {
    const taken = await store.accounts.find(to)
    if (taken !== undefined && taken.sub !== before.sub) return { outcome: 'username_taken' }
  }
  const account = await store.accounts.update<AccountRecord | 'unknown' | 'changed_meanwhile'>(name, (current) => {
    if (current?.sub !== before.sub) return { result: 'unknown' }
    if (!isMeant(current)) return { result: 'changed_meanwhile' }
    const record = {
      ...current,
      claims: claims(current.claims),
      ...(disabled !== undefined && { disabled }),
      ...(isSameName && written !== undefined && { username: written }),
    }
    return { result: record, write: { record } }
  })
  if (typeof account === 'string') return { outcome: account }
  if (isSameName || written === undefined) return { outcome: 'updated', account }
  return rename(store, name, to, written)
}
