import type { AccountRecord, PasswordHasher } from './account-directory.js'
import {
  configuredAccountId,
  isSubject,
  noPassword,
  subjectRule,
  toRecord,
  withHash,
  type AccountStore,
  type ConfiguredAccount,
  type NewAccount,
} from './accounts.js'
import { canonicalUsername } from './username.js'
import type { AuditLog } from '../observe/audit.js'
import type { EndSubject } from '../oauth/subjects/subject-end.js'

/** An account as the configuration has it. */
export interface ConfiguredNewAccount extends NewAccount {
  readonly sub: string
  readonly password: string
}

/**
 * Returns the accounts of the configuration in order, with their passwords hashed. `inForce` has hashes by subject,
 * which are kept where they match. Throws an `Error` that names the entry when a username or subject is unusable or
 * appears twice.
 */
export const staticAccounts = async (
  configured: readonly ConfiguredNewAccount[],
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

/** The stored records of the accounts of configurations, by subject. */
export type InForce = ReadonlyMap<string, ConfiguredAccount>

/** Throws `Unavailable`. */
export const readInForce = async ({ configured }: Pick<AccountStore, 'configured'>): Promise<InForce> => {
  const inForce = new Map<string, ConfiguredAccount>()
  const pageSize = 100
  let page = await configured.list(undefined, pageSize)
  while (page.length > 0) {
    for (const { record } of page) inForce.set(record.sub, record)
    page = await configured.list(page.at(-1)?.id, pageSize)
  }
  return inForce
}

/**
 * Puts the passwords of a configuration in force for all processes, and ends what was opened by sign-ins with another
 * password or to an account that is gone. The first process does it for all. If a crash or an outage interrupts it,
 * the next process that opens the configuration finishes it: the mark `ending` stays until then. Throws
 * `Unavailable`.
 */
export const reconcileAccounts = async (
  accounts: readonly AccountRecord[],
  inForce: InForce,
  { store, end, audit, goneSeconds }: ReconcileOptions,
): Promise<void> => {
  const put = (record: ConfiguredAccount, ttlSeconds?: number) =>
    store.configured.put(configuredAccountId(record.sub), record, ttlSeconds === undefined ? {} : { ttlSeconds })

  const change = async (record: ConfiguredAccount, reason: string, ttlSeconds?: number): Promise<void> => {
    // The new password comes first and the end of access second, so that no sign-in with the old one in between
    // survives.
    await put({ ...record, ending: true })
    await end(record.sub)
    await audit.record({ event: 'subject.ended', sub: record.sub, reason })
    await put(record, ttlSeconds)
  }

  for (const { sub, password_hash } of accounts) {
    const known = inForce.get(sub)
    if (known === undefined) await put({ sub, password_hash })
    else if (known.password_hash !== password_hash || known.ending === true)
      await change({ sub, password_hash }, 'the configuration has another password')
  }
  const subjects = new Set(accounts.map(({ sub }) => sub))
  for (const { sub, password_hash, ending } of inForce.values()) {
    if (subjects.has(sub) || (password_hash === noPassword && ending !== true)) continue
    await change({ sub, password_hash: noPassword }, 'the account has left the configuration', goneSeconds)
  }
}

export interface ReconcileOptions {
  readonly store: Pick<AccountStore, 'configured'>
  readonly end: EndSubject
  readonly audit: AuditLog
  /**
   * Seconds for which a removed account is remembered: until nothing that a replica still knowing it has opened can
   * be alive.
   */
  readonly goneSeconds: number
}
