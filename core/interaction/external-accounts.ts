import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../json.js'
import type { Account, HasSubject } from '../oauth/subjects/account.js'
import { hashOpaqueToken } from '../opaque-token.js'
import type { RecordStore } from '../storage/ports.js'

/**
 * The stored record of a person whom an external service signs in, or of a name that the service uses for that
 * person.
 */
export interface ExternalAccount {
  readonly method: string
  readonly subject: string
  /** Absent when the record is a name. */
  readonly claims?: JsonObject
}

/** Accounts of people whom external services sign in. Every member throws `Unavailable`. */
export interface ExternalAccounts {
  /** Returns what the sign-in method with this id stored last. */
  find(method: string, subject: string): Promise<Account | undefined>
  /**
   * Tells whether a local account of the deployment has the subject. Ask before `keep`, unless the method may sign in
   * as such accounts.
   */
  readonly isLocal: HasSubject
  /**
   * Stores what the method learned about a person. Returns false and changes nothing when another method has an
   * account with this subject.
   */
  keep(method: string, account: { readonly subject: string; readonly claims: JsonObject }): Promise<boolean>
  /**
   * Remembers the name that the external service uses for a person or a session, so that the subject can be found by
   * it. Without `ttlSeconds` the name never expires.
   */
  name(method: string, name: string, subject: string, ttlSeconds?: number): Promise<void>
  findByName(method: string, name: string): Promise<string | undefined>
}

const accountPrefix = 'subject.'
const accountId = (subject: string): string => `${accountPrefix}${hashOpaqueToken(subject)}`
const nameId = (method: string, name: string): string => `name.${method}.${hashOpaqueToken(name)}`

/** `warnOf` receives the claims that a method delivers. */
export const createExternalAccounts = (
  store: RecordStore<ExternalAccount>,
  isLocal: HasSubject,
  warnOf: (method: string, claims: JsonObject) => void,
): ExternalAccounts => ({
  isLocal,
  async find(method, subject) {
    const found = await store.find(accountId(subject))
    return found?.method === method ? { subject, claims: found.claims ?? {} } : undefined
  },
  async keep(method, { subject, claims }) {
    warnOf(method, claims)
    const known = await store.find(accountId(subject))
    if (known?.method === method && isDeepStrictEqual(known.claims, claims)) return true
    return store.update(accountId(subject), (current) => {
      if (current !== undefined && current.method !== method) return { result: false }
      return { result: true, write: { record: { method, subject, claims } } }
    })
  },
  async name(method, name, subject, ttlSeconds) {
    const record = { method, subject }
    await store.put(nameId(method, name), record, ttlSeconds === undefined ? {} : { ttlSeconds })
  },
  findByName: async (method, name) => (await store.find(nameId(method, name)))?.subject,
})

/** Returns the stored record of a person whom an external service signs in. Throws `Unavailable`. */
export const findExternalAccount = (
  store: RecordStore<ExternalAccount>,
  subject: string,
): Promise<ExternalAccount | undefined> => store.find(accountId(subject))

const pageSize = 500

/** Yields all records whose id begins with `prefix`, page by page. */
async function* recordsBelow(store: RecordStore<ExternalAccount>, prefix: string) {
  let page = await store.list(prefix, pageSize)
  while (page.length > 0) {
    for (const found of page) {
      if (!found.id.startsWith(prefix)) return
      yield found
    }
    page = await store.list(page.at(-1)?.id, pageSize)
  }
}

/** Lists everyone whom external services have signed in, in no particular order. Throws `Unavailable`. */
export const listExternalAccounts = async (
  store: RecordStore<ExternalAccount>,
): Promise<readonly ExternalAccount[]> => {
  const all: ExternalAccount[] = []
  for await (const { record } of recordsBelow(store, accountPrefix)) all.push(record)
  return all
}

/**
 * Lists at most `limit` of them in the order of their records, starting after the subject `after`. Throws
 * `Unavailable`.
 */
export const pageExternalAccounts = async (
  store: RecordStore<ExternalAccount>,
  after: string | undefined,
  limit: number,
): Promise<readonly ExternalAccount[]> => {
  const page = await store.list(after === undefined ? accountPrefix : accountId(after), limit)
  return page.flatMap(({ id, record }) => (id.startsWith(accountPrefix) ? [record] : []))
}

/**
 * Removes a person together with the service's names for the person and the sessions there. Resolves with the removed
 * record. The next sign-in there creates the account again. Throws `Unavailable`.
 */
export const removeExternalAccount = async (
  store: RecordStore<ExternalAccount>,
  subject: string,
): Promise<ExternalAccount | undefined> => {
  const found = await findExternalAccount(store, subject)
  if (found === undefined || !(await store.remove(accountId(subject)))) return undefined
  const names: string[] = []
  for await (const { id, record } of recordsBelow(store, `name.${found.method}.`))
    if (record.subject === subject) names.push(id)
  for (const id of names) await store.remove(id)
  return found
}
