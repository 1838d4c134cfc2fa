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
 * Accounts in the records store, by canonical username, and the way there from a subject. An account whose subject
 * does not lead back to it is not complete: nothing is issued for it, and removing it repairs the rest.
 */
export interface AccountStore {
  readonly accounts: RecordStore<AccountRecord>
  readonly subjects: RecordStore<{ readonly username: string }>
  /** Passwords are found by `configuredAccountId`. */
  readonly configured: RecordStore<ConfiguredAccount>
  /** Accounts of the configuration that an operator has disabled are here by `configuredAccountId`, until they are enabled again. */
  readonly disabled: RecordStore<DisabledAccount>
}

export interface DisabledAccount {
  readonly sub: string
}

/** The password of an account of the configuration that is in force for all processes, whichever file each has read. */
export interface ConfiguredAccount {
  readonly sub: string
  /** This is a PHC string; an empty one: there is no password any more. */
  readonly password_hash: string
  /** What sign-ins with the previous password had opened is still to be ended. */
  readonly ending?: true
}

export const configuredAccountId = (subject: string): string => hashOpaqueToken(subject)

export const openAccountStore = (backend: Pick<StorageBackend, 'records'>): AccountStore => ({
  accounts: backend.records('accounts'),
  subjects: backend.records('account_subjects'),
  configured: backend.records('configured_accounts'),
  disabled: backend.records('disabled_accounts'),
})

/** The accounts of the configuration, then those of the store. What the configuration names, the store cannot change. */
export const createAccountDirectory = (sources: {
  readonly static: readonly AccountRecord[]
  /** Those of `static` whose password the store may know better, because another process has read a newer file. */
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

/** Changes what is there, in one step with the look at it. Undefined when there is none that `isMeant`. Throws `Unavailable`. */
const changeRecord = (
  accounts: AccountStore['accounts'],
  name: string,
  change: Partial<AccountRecord>,
  isMeant: (account: AccountRecord) => boolean = () => true,
): Promise<AccountRecord | undefined> =>
  accounts.update<AccountRecord | undefined>(name, (current) => {
    if (current === undefined || !isMeant(current)) return { result: undefined }
    const record = { ...current, ...change }
    return { result: record, write: { record } }
  })

export interface NewAccount {
  readonly username: string
  readonly password: string
  /** A random UUID is the default. */
  readonly sub?: string
  readonly claims?: JsonObject
  readonly disabled?: boolean
}

/**
 * The accounts of the configuration with their passwords hashed, in order; `inForce` has hashes by subject, which are kept
 * where they fit. Throws an `Error` that names the entry when a username or subject is unusable or comes twice.
 */
export const staticAccounts = async (
  configured: readonly (NewAccount & { readonly sub: string })[],
  hasher: PasswordHasher,
  inForce: ReadonlyMap<string, Pick<AccountRecord, 'password_hash'>> = new Map(),
): Promise<readonly AccountRecord[]> => {
  const seen = new Set<string>()
  const records: AccountRecord[] = []
  for (const [index, account] of configured.entries()) {
    const name = canonicalUsername(account.username)
    if (name === undefined || seen.has(`username ${name}`)) {
      throw new Error(`accounts[${index}].username: ${name === undefined ? 'not a username' : 'comes twice'}`)
    }
    if (!isSubject(account.sub) || seen.has(`sub ${account.sub}`)) {
      throw new Error(`accounts[${index}].sub: ${isSubject(account.sub) ? 'comes twice' : subjectRule}`)
    }
    seen.add(`username ${name}`).add(`sub ${account.sub}`)
    const known = inForce.get(account.sub)?.password_hash
    const fits = known !== undefined && (await hasher.verify(account.password, known))
    const record = fits ? withHash(account, account.sub, known) : await toRecord(account, account.sub, hasher)
    records.push({ ...record, fixed: true })
  }
  return records
}

export type AccountAddition =
  | { readonly outcome: 'added'; readonly account: AccountRecord }
  | { readonly outcome: 'username_taken' | 'subject_taken' }
  /** `reason` is a sentence for the operator. */
  | { readonly outcome: 'invalid'; readonly reason: string }

/** A crash in mid-addition frees the subject again after this long. */
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
  const fault = findPasswordFault(added.password, username)
  if (fault !== undefined) return invalid(`The password ${fault.text}.`)
  const account = await toRecord(added, sub, hasher)
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

/**
 * Removes an account from the store; its subject stops working at once, and stays ended should an account get it again.
 * Returns it, undefined when there was none. Throws `Unavailable`.
 */
export const removeAccount = async (
  store: AccountStore,
  username: string,
  end: EndSubject,
): Promise<AccountRecord | undefined> => {
  const found = await findAccount(store, username)
  if (found === undefined) return undefined
  const { name, account } = found
  const entry = await store.subjects.find(account.sub)
  if (entry?.username === name) await store.subjects.remove(account.sub)
  const removed = await store.accounts.remove(name)
  await end(account.sub)
  return removed ? account : undefined
}

export type PasswordChange =
  | { readonly outcome: 'changed'; readonly account: AccountRecord }
  | { readonly outcome: 'unknown' }
  /** `reason` is a sentence for the operator. */
  | { readonly outcome: 'invalid'; readonly reason: string }

/** Changes the password of an account of the store and ends what sign-ins with the old one have opened. Throws `Unavailable`. */
export const changePassword = async (
  store: AccountStore,
  hasher: PasswordHasher,
  { username, password }: Pick<NewAccount, 'username' | 'password'>,
  end: EndSubject,
): Promise<PasswordChange> => {
  const fault = findPasswordFault(password, username)
  if (fault !== undefined) return { outcome: 'invalid', reason: `The password ${fault.text}.` }
  const password_hash = await hasher.hash(password)
  const name = canonicalUsername(username)
  const account = name === undefined ? undefined : await changeRecord(store.accounts, name, { password_hash })
  if (account === undefined) return { outcome: 'unknown' }
  // The end comes after the change: nobody signs in with the old password between the two and stays.
  await end(account.sub)
  return { outcome: 'changed', account }
}

/**
 * Disables an account of the store, which ends what it had opened, or enables it again. Returns it as it is now; undefined
 * when there is none. Throws `Unavailable`.
 */
export const setDisabled = async (
  store: AccountStore,
  username: string,
  disabled: boolean,
  end: EndSubject,
): Promise<AccountRecord | undefined> => {
  const name = canonicalUsername(username)
  const account = name === undefined ? undefined : await changeRecord(store.accounts, name, { disabled })
  if (account !== undefined && disabled) await end(account.sub)
  return account
}

/** An account of the store, with the canonical username that it is kept under. Throws `Unavailable`. */
export const findAccount = async (
  store: AccountStore,
  username: string,
): Promise<{ readonly name: string; readonly account: AccountRecord } | undefined> => {
  const name = canonicalUsername(username)
  const account = name === undefined ? undefined : await store.accounts.find(name)
  return name !== undefined && account ? { name, account } : undefined
}

/** The store's accounts in order of username, at most `limit`, from after `after`. Throws `Unavailable`. */
export const listAccounts = async (
  store: AccountStore,
  after?: string,
  limit = 100,
): Promise<readonly AccountRecord[]> =>
  (await store.accounts.list(after === undefined ? undefined : canonicalUsername(after), limit)).map(
    (entry) => entry.record,
  )

export const usernameRule = 'A username has 1 to 256 characters, and none that nobody sees.'

const subjectRule = 'a subject has 1 to 255 printable ASCII characters'

/** OIDC Core §2 says what a `sub` is. */
const isSubject = (subject: string): boolean => /^[\x21-\x7e]{1,255}$/.test(subject)

const toRecord = async (account: NewAccount, sub: string, hasher: PasswordHasher): Promise<AccountRecord> =>
  withHash(account, sub, await hasher.hash(account.password))

const withHash = (account: NewAccount, sub: string, password_hash: string): AccountRecord => ({
  username: account.username.normalize('NFC').trim(),
  sub,
  password_hash,
  claims: account.claims ?? {},
  ...(account.disabled ? { disabled: true } : {}),
})

/**
 * Disables an account of the configuration at once, on every replica and whatever the file says, or lets the file be right again.
 * Disabling ends what the account had opened. Throws `Unavailable`.
 */
export const setConfiguredDisabled = async (
  { disabled: tombstones }: Pick<AccountStore, 'disabled'>,
  sub: string,
  disabled: boolean,
  end: EndSubject,
): Promise<void> => {
  if (!disabled) return void (await tombstones.remove(configuredAccountId(sub)))
  await tombstones.put(configuredAccountId(sub), { sub })
  // The end comes after it: nobody signs in between the two and stays.
  await end(sub)
}
