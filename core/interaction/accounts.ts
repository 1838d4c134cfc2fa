import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../json.js'
import { hashOpaqueToken } from '../opaque-token.js'
import { hasUnseen } from '../plain-text.js'
import type { EndSubject } from '../oauth/subjects/subject-end.js'
import type { RecordStore, StorageBackend } from '../storage/ports.js'
import type { AccountDirectory, AccountRecord, PasswordHasher } from './account-directory.js'
import { findPasswordFault } from './password-strength.js'
import { canonicalUsername } from './username.js'

/**
 * Accounts in the records store by canonical username, with an index from subject to username. An account is
 * incomplete if its subject does not lead back to it: nothing is issued for it, and removing it repairs the rest.
 */
export interface AccountStore {
  readonly accounts: RecordStore<AccountRecord>
  readonly subjects: RecordStore<{ readonly username: string }>
  /** Passwords are stored by `configuredAccountId`. */
  readonly configured: RecordStore<ConfiguredAccount>
  /** Disabled accounts of the configuration. They stay here by `configuredAccountId` until they are enabled again. */
  readonly disabled: RecordStore<DisabledAccount>
}

export interface DisabledAccount {
  readonly sub: string
}

/** The password of an account of the configuration. It is in force for all processes, whichever file each has read. */
export interface ConfiguredAccount {
  readonly sub: string
  /** This is a PHC string. It is empty when there is no password any more. */
  readonly password_hash: string
  /** The sessions and grants that the previous password had opened must still be ended. */
  readonly ending?: true
}

export const configuredAccountId = (subject: string): string => hashOpaqueToken(subject)

export const openAccountStore = (backend: Pick<StorageBackend, 'records'>): AccountStore => ({
  accounts: backend.records('accounts'),
  subjects: backend.records('account_subjects'),
  configured: backend.records('configured_accounts'),
  disabled: backend.records('disabled_accounts'),
})

/** Looks accounts up in the configuration, then in the store, which cannot change those of the configuration. */
export const createAccountDirectory = (sources: {
  readonly static: readonly AccountRecord[]
  /** Accounts of `static` whose password may be newer in the store, because another process has read a newer file. */
  readonly shared?: readonly AccountRecord[]
  readonly store: AccountStore
}): AccountDirectory => {
  const byUsername = new Map(sources.static.map((account) => [canonicalUsername(account.username), account]))
  const bySubject = new Map(sources.static.map((account) => [account.sub, account]))
  const shared = new Map(sources.shared?.map((account) => [account, configuredAccountId(account.sub)]))
  const { accounts, subjects, configured: inForce, disabled } = sources.store
  /** An account of the demo cannot be disabled. */
  const asEnabled = async (account: AccountRecord): Promise<AccountRecord> => {
    const id = shared.get(account)
    return id !== undefined && (await disabled.find(id)) ? { ...account, disabled: true } : account
  }
  const withPasswordInForce = async (account: AccountRecord): Promise<AccountRecord> => {
    const id = shared.get(account)
    if (id === undefined) return account
    const { password_hash } = (await inForce.find(id)) ?? account
    return { ...(await asEnabled(account)), password_hash }
  }
  return {
    findByUsername: async (username) => {
      const name = canonicalUsername(username)
      if (name === undefined) return undefined
      const configured = byUsername.get(name)
      if (configured) return withPasswordInForce(configured)
      const account = await accounts.find(name)
      return account && !bySubject.has(account.sub) ? account : undefined
    },
    findBySubject: async (subject) => {
      if (!isSubject(subject)) return undefined
      const configured = bySubject.get(subject)
      if (configured) return asEnabled(configured)
      const entry = await subjects.find(subject)
      const account = entry && (await accounts.find(entry.username))
      return account?.sub === subject ? account : undefined
    },
    peekBySubject: (subject) => bySubject.get(subject),
    replacePassword: async (known, password_hash) => {
      const name = canonicalUsername(known.username)
      if (name === undefined || byUsername.has(name) || bySubject.has(known.sub)) return false
      const isKnown = (account: AccountRecord): boolean =>
        account.sub === known.sub && account.password_hash === known.password_hash && !account.disabled
      return (await changeRecord(accounts, name, { password_hash }, isKnown)) !== undefined
    },
  }
}

/** Changes a record in one atomic step. Returns undefined when none satisfies `isMeant`. Throws `Unavailable`. */
const changeRecord = (
  accounts: AccountStore['accounts'],
  name: string,
  change: Partial<AccountRecord>,
  isMeant: IsMeant = () => true,
): Promise<AccountRecord | undefined> =>
  accounts.update<AccountRecord | undefined>(name, (current) => {
    if (current === undefined || !isMeant(current)) return { result: undefined }
    const record = { ...current, ...change }
    return { result: record, write: { record } }
  })

export interface NewAccount {
  readonly username: string
  /** Absent: nobody can sign in with a password, until one is set. */
  readonly password?: string
  /** The default is a random UUID. */
  readonly sub?: string
  readonly claims?: JsonObject
  readonly disabled?: boolean
}

export type AccountAddition =
  | { readonly outcome: 'added'; readonly account: AccountRecord }
  | { readonly outcome: 'username_taken' | 'subject_taken' }
  /** `reason` is a sentence for the operator. */
  | { readonly outcome: 'invalid'; readonly reason: string }

/** After a crash during an addition, the subject is free again after this time. */
const claimSeconds = 60

/** Adds an account to the store unless its password is weak or its username or subject is taken. Throws `Unavailable`. */
export const addAccount = async (
  store: AccountStore,
  hasher: PasswordHasher,
  added: NewAccount,
): Promise<AccountAddition> => {
  const invalid = (reason: string): AccountAddition => ({ outcome: 'invalid', reason })
  const username = canonicalUsername(added.username)
  const sub = added.sub ?? randomUUID()
  if (username === undefined || hasUnseen(added.username)) return invalid(usernameRule)
  if (!isSubject(sub)) return invalid(`The subject is not valid: ${subjectRule}.`)
  const fault = added.password === undefined ? undefined : findPasswordFault(added.password, username)
  if (fault !== undefined) return invalid(`The password ${fault.text}.`)
  const account = await toRecord(added, sub, hasher)
  return await addRecord(store, username, account)
}

/** Stores a new account under its canonical username, unless its username or subject is taken. Throws `Unavailable`. */
export const addRecord = async (
  store: AccountStore,
  username: string,
  account: AccountRecord,
): Promise<Exclude<AccountAddition, { readonly outcome: 'invalid' }>> => {
  const { sub } = account
  if (!(await store.subjects.put(sub, { username }, { ttlSeconds: claimSeconds, onlyIfAbsent: true }))) {
    return { outcome: 'subject_taken' }
  }
  if (!(await store.accounts.put(username, account, { onlyIfAbsent: true }))) {
    await store.subjects.remove(sub)
    return { outcome: 'username_taken' }
  }
  await store.subjects.put(sub, { username })
  return { outcome: 'added', account }
}

/** Tells whether an account is the one to change, in one atomic step with the change. */
export type IsMeant = (account: AccountRecord) => boolean

/**
 * Removes an account from the store. Its subject stops working at once, and what it had stays ended if an account
 * gets it again. Returns the account, or undefined when there was none or not the one that is meant. Throws `Unavailable`.
 */
export const removeAccount = async (
  store: AccountStore,
  username: string,
  end: EndSubject,
  isMeant?: IsMeant,
): Promise<AccountRecord | undefined> => {
  const name = canonicalUsername(username)
  // Disabling comes first, in one step with the check, so that whatever interrupts the rest leaves no sign-in open.
  const account = name === undefined ? undefined : await changeRecord(store.accounts, name, { disabled: true }, isMeant)
  if (name === undefined || account === undefined) return undefined
  const entry = await store.subjects.find(account.sub)
  if (entry?.username === name) await store.subjects.remove(account.sub)
  const removed = await store.accounts.remove(name)
  await end(account.sub)
  return removed ? account : undefined
}

export interface PasswordInput {
  readonly username: string
  readonly password: string
  readonly isMeant?: IsMeant
}

export type PasswordChange =
  | { readonly outcome: 'changed'; readonly account: AccountRecord }
  | { readonly outcome: 'unknown' }
  /** `reason` is a sentence for the operator. */
  | { readonly outcome: 'invalid'; readonly reason: string }

/** Changes the password of an account of the store and ends what the old one has opened. Throws `Unavailable`. */
export const changePassword = async (
  store: AccountStore,
  hasher: PasswordHasher,
  { username, password, isMeant }: PasswordInput,
  end: EndSubject,
): Promise<PasswordChange> => {
  const fault = findPasswordFault(password, username)
  if (fault !== undefined) return { outcome: 'invalid', reason: `The password ${fault.text}.` }
  const password_hash = await hasher.hash(password)
  const name = canonicalUsername(username)
  const account = name === undefined ? undefined : await changeRecord(store.accounts, name, { password_hash }, isMeant)
  if (account === undefined) return { outcome: 'unknown' }
  // Access ends after the change, so that no sign-in with the old password in between survives.
  await end(account.sub)
  return { outcome: 'changed', account }
}

export interface DisabledInput {
  readonly username: string
  readonly disabled: boolean
  readonly isMeant?: IsMeant
}

/**
 * Disables an account of the store and ends what it had opened, or enables it again. Returns the account as it is
 * now, or undefined when there is none. Throws `Unavailable`.
 */
export const setDisabled = async (
  store: AccountStore,
  { username, disabled, isMeant }: DisabledInput,
  end: EndSubject,
): Promise<AccountRecord | undefined> => {
  const name = canonicalUsername(username)
  const account = name === undefined ? undefined : await changeRecord(store.accounts, name, { disabled }, isMeant)
  if (account !== undefined && disabled) await end(account.sub)
  return account
}

/** Finds an account of the store, with the canonical username it is stored under. Throws `Unavailable`. */
export const findAccount = async (
  store: AccountStore,
  username: string,
): Promise<{ readonly name: string; readonly account: AccountRecord } | undefined> => {
  const name = canonicalUsername(username)
  const account = name === undefined ? undefined : await store.accounts.find(name)
  return name !== undefined && account ? { name, account } : undefined
}

/** Lists at most `limit` accounts of the store in order of username, starting after `after`. Throws `Unavailable`. */
export const listAccounts = async (
  store: AccountStore,
  after?: string,
  limit = 100,
): Promise<readonly AccountRecord[]> =>
  (await store.accounts.list(after === undefined ? undefined : canonicalUsername(after), limit)).map(
    (entry) => entry.record,
  )

export const usernameRule = 'A username has 1 to 256 characters, and none that nobody sees.'

export const subjectRule = 'a subject has 1 to 255 printable ASCII characters'

/** OIDC Core §2 defines what a `sub` may be. */
export const isSubject = (subject: string): boolean => /^[\x21-\x7e]{1,255}$/.test(subject)

/** Verifies no password. */
export const noPassword = ''

export const toRecord = async (account: NewAccount, sub: string, hasher: PasswordHasher): Promise<AccountRecord> =>
  withHash(account, sub, account.password === undefined ? noPassword : await hasher.hash(account.password))

export const withHash = (account: Omit<NewAccount, 'password'>, sub: string, password_hash: string): AccountRecord => ({
  username: account.username.normalize('NFC').trim(),
  sub,
  password_hash,
  claims: account.claims ?? {},
  ...(account.disabled ? { disabled: true } : {}),
})

/**
 * Disables an account of the configuration at once, on every replica and whatever the file says, or lets the file
 * decide again. Disabling ends what the account had opened. Throws `Unavailable`.
 */
export const setConfiguredDisabled = async (
  { disabled: tombstones }: Pick<AccountStore, 'disabled'>,
  sub: string,
  disabled: boolean,
  end: EndSubject,
): Promise<void> => {
  if (!disabled) return void (await tombstones.remove(configuredAccountId(sub)))
  await tombstones.put(configuredAccountId(sub), { sub })
  // Access ends after the change, so that no sign-in in between survives.
  await end(sub)
}
