import { randomUUID } from 'node:crypto'
import { epochSeconds } from '../../clock.js'
import { collections } from '../../collections/collections.js'
import { endSubjectIn } from '../../collections/person-records.js'
import type { AccountRecord, PasswordHasher } from '../../interaction/account-directory.js'
import {
  isSubject,
  noPassword,
  openAccountStore,
  subjectRule,
  usernameRule,
  withHash,
} from '../../interaction/accounts.js'
import { canonicalUsername } from '../../interaction/username.js'
import { listSubjectRecords } from '../../oauth/subjects/subject-records.js'
import { hasUnseen } from '../../plain-text.js'
import { encryptSecret, personSecretId } from '../../totp/stored-secret.js'
import { isConfiguredAccount } from '../account-changes.js'
import { change, type Administration, type Operator } from '../administration.js'
import { findClient } from '../clients.js'
import { personFactorsIn } from '../factors.js'
import type { ImportedAccount, UnreadableEntry } from './imported-account.js'
import { readPasswordHash } from './password-notations.js'

export interface ImportOptions {
  readonly accounts: AsyncIterable<ImportedAccount | UnreadableEntry>
  readonly hasher: PasswordHasher
  /** The key that seals secrets of authenticator apps. Absent: no plugin of the configuration accepts them. */
  readonly totpKey?: Uint8Array | undefined
  /** Checks everything, and changes nothing. */
  readonly dryRun: boolean
  /** Is called for each entry that is refused. */
  refused(entry: UnreadableEntry): void
}

/** The numbers of what a file had. */
export interface Imported {
  readonly imported: number
  /** Accounts that exist already, from an import before this one for example. They were not changed. */
  readonly existing: number
  readonly rejected: number
}

/** Accounts that are written at the same time. Each is several records and entries of indexes, and a store has room for so many. */
const batchSize = 500

type Outcome = 'imported' | 'existing' | { readonly reason: string }

const refuse = (reason: string): Outcome => ({ reason })

interface Prepared {
  readonly name: string
  readonly record: AccountRecord
  /** True when the file has the subject. */
  readonly isGiven: boolean
}

const prepare = async (
  administration: Administration,
  { username, sub, claims, disabled, password, passwordHash, totp }: ImportedAccount,
  { hasher, totpKey, dryRun }: ImportOptions,
): Promise<Prepared | { readonly reason: string }> => {
  const name = canonicalUsername(username)
  if (name === undefined || hasUnseen(username)) return { reason: usernameRule }
  if (sub !== undefined && !isSubject(sub)) return { reason: `The subject is not valid: ${subjectRule}.` }
  if (isConfiguredAccount(administration.config, { username, sub }))
    return { reason: 'The configuration has an account with this username or subject.' }
  if (Object.hasOwn(claims, 'sub')) return { reason: 'The subject is not a claim.' }
  if (sub !== undefined && (await findClient(administration, sub)) !== undefined)
    return { reason: 'There is a client with this id: its tokens would have the same subject.' }
  if (totp !== undefined && totpKey === undefined)
    return { reason: 'The account has an authenticator app, and there is no `sealing_key` of plugins/login/totp.' }
  const known = passwordHash === undefined ? noPassword : readPasswordHash(passwordHash)
  if (known === undefined) return { reason: 'The password hash has an unknown form, or costs too much to verify.' }
  if (password !== undefined && (password === '' || Buffer.byteLength(password) > 1024))
    return { reason: 'A password has 1 to 1024 bytes.' }
  const hash = password === undefined || dryRun ? known : await hasher.hash(password)
  const record = withHash({ username, claims, ...(disabled && { disabled }) }, sub ?? randomUUID(), hash)
  return { name, record, isGiven: sub !== undefined }
}

/** An earlier account with this subject may have left something behind; the new account must not inherit it. */
const endRemains = async (administration: Administration, sub: string): Promise<void> => {
  const { stores, config, clock } = administration
  const { sessionIndex, grantIndex } = collections(stores)
  const found = await Promise.all([
    listSubjectRecords<unknown>(sessionIndex, sub),
    listSubjectRecords<unknown>(grantIndex, sub),
    personFactorsIn(stores, clock).removeAll(sub),
  ])
  if (found.some((all) => all.length > 0)) await endSubjectIn(stores, config, clock)(sub)
}

/**
 * Stores one account. An interruption between the steps leaves something that the same step of the next import
 * completes. Throws `Unavailable`.
 */
const store = async (
  administration: Administration,
  { name, record, isGiven }: Prepared,
  { totp }: ImportedAccount,
  { totpKey, dryRun }: ImportOptions,
): Promise<Outcome> => {
  const { accounts, subjects } = openAccountStore(administration.stores.records)
  const known = await accounts.find(name)
  if (known !== undefined) {
    if (isGiven && known.sub !== record.sub) return refuse('The username is taken.')
    if (!dryRun) await subjects.put(known.sub, { username: name }, { onlyIfAbsent: true })
    return 'existing'
  }
  const owner = isGiven ? await subjects.find(record.sub) : undefined
  if (owner !== undefined && owner.username !== name) return refuse('The subject is taken.')
  if (dryRun) return 'imported'
  if (isGiven) await endRemains(administration, record.sub)
  if (totp !== undefined && totpKey !== undefined) {
    const { secret, ...form } = totp
    const sealed = encryptSecret(personSecretId(record.sub), secret, form, totpKey)
    const { stores, clock } = administration
    // The factor comes before the account, which must never be open without it.
    const factor = { kind: 'totp', ...sealed, lastStep: 0, createdAt: epochSeconds(clock) } as const
    await personFactorsIn(stores, clock).putTotp(record.sub, factor)
  }
  // An account is open when both are there.
  const [isOwner, isAdded] = await Promise.all([
    owner !== undefined || subjects.put(record.sub, { username: name }, { onlyIfAbsent: true }),
    accounts.put(name, record, { onlyIfAbsent: true }),
  ])
  if (isOwner && isAdded) return 'imported'
  // Another command was faster.
  if (isAdded) await accounts.remove(name)
  if (isOwner && owner === undefined) await subjects.remove(record.sub)
  return refuse(isAdded ? 'The subject is taken.' : 'The username is taken.')
}

const importOne = async (
  administration: Administration,
  account: ImportedAccount,
  options: ImportOptions,
): Promise<{ readonly outcome: Outcome; readonly prepared?: Prepared }> => {
  const prepared = await prepare(administration, account, options)
  if ('reason' in prepared) return { outcome: prepared }
  return { outcome: await store(administration, prepared, account, options), prepared }
}

/** Collects what comes one after another. */
async function* inBatches<T>(all: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  let batch: T[] = []
  for await (const one of all) {
    batch.push(one)
    if (batch.length < batchSize) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

type Result = {
  readonly entry: ImportedAccount | UnreadableEntry
  readonly outcome: Outcome
  readonly prepared?: Prepared
}

/** Imports entries at the same time, and after them those that repeat a username or subject. */
const importBatch = async (
  administration: Administration,
  batch: readonly (ImportedAccount | UnreadableEntry)[],
  options: ImportOptions,
): Promise<readonly Result[]> => {
  const seen = new Set<string>()
  const isRepeated = (entry: ImportedAccount | UnreadableEntry): boolean => {
    if ('reason' in entry) return false
    const names = [
      `username ${canonicalUsername(entry.username) ?? ''}`,
      ...(entry.sub === undefined ? [] : [`sub ${entry.sub}`]),
    ]
    const isKnown = names.some((name) => seen.has(name))
    for (const name of names) seen.add(name)
    return isKnown
  }
  const run = async (entry: ImportedAccount | UnreadableEntry): Promise<Result> =>
    'reason' in entry
      ? { entry, outcome: { reason: entry.reason } }
      : { entry, ...(await importOne(administration, entry, options)) }
  const repeated = new Set(batch.filter(isRepeated))
  const results = new Map(
    await Promise.all(
      batch.filter((entry) => !repeated.has(entry)).map(async (entry) => [entry, await run(entry)] as const),
    ),
  )
  for (const entry of repeated) results.set(entry, await run(entry))
  return batch.flatMap((entry) => results.get(entry) ?? [])
}

/**
 * Imports the accounts of another product, in bounded memory. What exists stays as it is, so an import that was
 * interrupted can be repeated. The audit log has each account. Throws `Unavailable`, and what the reader throws.
 */
export const importAccounts = async (
  administration: Administration,
  by: Operator,
  options: ImportOptions,
): Promise<Imported> => {
  const counts = { imported: 0, existing: 0, rejected: 0 }
  const refusedEntry = (entry: UnreadableEntry): void => {
    counts.rejected++
    options.refused(entry)
  }
  const run = async (): Promise<Imported> => {
    let recorded = Promise.resolve()
    for await (const batch of inBatches(options.accounts)) {
      const results = await importBatch(administration, batch, options)
      const added: Prepared[] = []
      for (const { entry, outcome, prepared } of results) {
        if (typeof outcome === 'object') refusedEntry({ place: entry.place, reason: outcome.reason })
        else counts[outcome]++
        if (outcome === 'imported' && prepared !== undefined) added.push(prepared)
      }
      // The lines of a batch are written while the next one is stored.
      await recorded
      if (!options.dryRun && added.length > 0)
        recorded = administration.audit.record(
          ...added.map(({ record: { sub, username } }) => ({
            ...{ event: 'administration' as const, action: 'account.add', imported: true, sub, username, by },
          })),
        )
    }
    await recorded
    return counts
  }
  if (options.dryRun) return run()
  return change(administration, by, { action: 'account.import' }, async (note) => {
    const imported = await run()
    note({ ...imported })
    return { ...imported }
  })
}
