import type { Config } from '../../config/schema.js'
import { collections } from '../collections/collections.js'
import type { AccountRecord } from '../interaction/account-directory.js'
import {
  configuredAccountId,
  findAccount,
  isSubject,
  listAccounts as listStoredAccounts,
  openAccountStore,
  type AccountStore,
} from '../interaction/accounts.js'
import {
  findExternalAccount,
  listExternalAccounts,
  pageExternalAccounts,
  type ExternalAccount,
} from '../interaction/external-accounts.js'
import { canonicalUsername } from '../interaction/username.js'
import type { JsonObject } from '../json.js'
import { listAll, type Deployment, type Refusal } from './administration.js'
import { etagOf } from './etag.js'

/** Names a person: an account by its username, or any person by `sub`, whichever method signs that person in. */
export type Who =
  { readonly username: string; readonly sub?: undefined } | { readonly sub: string; readonly username?: undefined }

/** Where an account is kept. An `external` account holds what the sign-in method `method` last reported. */
export type AccountSource = 'configuration' | 'store' | 'external'

export interface FoundPerson {
  readonly sub: string
  readonly username?: string
  /** Absent: no account has this subject here, though a plugin may know one. */
  readonly source?: AccountSource
  readonly method?: string
  readonly disabled?: boolean
  readonly claims: JsonObject
}

/** The version of a person's account, as far as operators see and change it. */
export const personEtag = ({ sub, username, source, method, disabled = false, claims }: FoundPerson): string =>
  etagOf({ sub, username, source, method, disabled, claims })

/** An account of the store that must be this person's, and of the version that was read. */
export interface AccountVersion {
  readonly sub?: string | undefined
  readonly ifMatch?: string | undefined
}

export const isVersion =
  ({ sub, ifMatch }: AccountVersion) =>
  (account: AccountRecord): boolean =>
    (sub === undefined || account.sub === sub) &&
    (ifMatch === undefined || personEtag(accountPerson(account, 'store')) === ifMatch)

/** Returns the account of the configuration with this username, which the store cannot change. */
export const findConfiguredAccount = (
  { accounts }: Config,
  username: string,
): Config['accounts'][number] | undefined => {
  const name = canonicalUsername(username)
  return accounts.find((one) => canonicalUsername(one.username) === name)
}

const accountPerson = (
  { sub, username, claims, disabled = false }: Omit<AccountRecord, 'password_hash'>,
  source: AccountSource,
): FoundPerson => ({ sub, username, source, disabled, claims })

/** An operator may have disabled an account of the configuration in the store. */
const configuredPerson = async (
  { disabled }: Pick<AccountStore, 'disabled'>,
  account: Omit<AccountRecord, 'password_hash'>,
): Promise<FoundPerson> => {
  const isDisabled = account.disabled === true || (await disabled.find(configuredAccountId(account.sub))) !== undefined
  return accountPerson({ ...account, disabled: isDisabled }, 'configuration')
}

const externalPerson = ({ subject: sub, method, claims = {} }: ExternalAccount): FoundPerson => ({
  ...{ sub, source: 'external', method, claims },
})

const byMethodAndSubject = (one: FoundPerson, other: FoundPerson): number =>
  (one.method ?? '').localeCompare(other.method ?? '') || one.sub.localeCompare(other.sub)

/**
 * Lists all accounts: those of the configuration first, then those of the store, then those of people who sign in
 * elsewhere. `method`: only those that this sign-in method reports. Throws `Unavailable`.
 */
export const listAccounts = async (
  { config, stores }: Deployment,
  { method }: { readonly method?: string | undefined },
): Promise<readonly FoundPerson[]> => {
  const store = openAccountStore(stores.records)
  const stored = await listAll(
    (after) => listStoredAccounts(store, after),
    (account) => account.username,
  )
  const external = await listExternalAccounts(collections(stores).externalAccounts)
  const people = [
    ...(await Promise.all(config.accounts.map((account) => configuredPerson(store, account)))),
    ...stored.map((account) => accountPerson(account, 'store')),
    ...external.map(externalPerson).toSorted(byMethodAndSubject),
  ]
  return people.filter((one) => method === undefined || one.method === method)
}

/** Lists the people of the configuration. Throws `Unavailable`. */
export const listConfiguredPeople = ({ config, stores }: Deployment): Promise<readonly FoundPerson[]> => {
  const store = openAccountStore(stores.records)
  return Promise.all(config.accounts.map((account) => configuredPerson(store, account)))
}

/** A person in the list of all, whose order is that of `position`. */
export interface PersonInList extends FoundPerson {
  readonly position: string
}

const sources = ['configuration', 'store', 'external'] as const

/** Lists at most `limit` people of one source after the name or subject `after`. */
const pageOf = async (
  { config, stores }: Deployment,
  source: AccountSource,
  after: string | undefined,
  limit: number,
): Promise<readonly FoundPerson[]> => {
  const store = openAccountStore(stores.records)
  if (source === 'store')
    return (await listStoredAccounts(store, after, limit)).map((account) => accountPerson(account, 'store'))
  if (source === 'external')
    return (await pageExternalAccounts(collections(stores).externalAccounts, after, limit)).map(externalPerson)
  const configured = config.accounts
    .filter(({ sub }) => after === undefined || sub > after)
    .toSorted((one, other) => (one.sub < other.sub ? -1 : 1))
    .slice(0, limit)
  return Promise.all(configured.map((account) => configuredPerson(store, account)))
}

/**
 * Lists at most `limit` people after a position: those of the configuration, then those of the store in the order of
 * their usernames, then those who sign in elsewhere. `source`: only these. Throws `Unavailable`.
 */
export const listPeopleAfter = async (
  deployment: Deployment,
  { source, after }: { readonly source?: AccountSource | undefined; readonly after?: string | undefined },
  limit: number,
): Promise<readonly PersonInList[]> => {
  const [reached, last] =
    after === undefined ? [] : [after.slice(0, after.indexOf(':')), after.slice(after.indexOf(':') + 1)]
  const found: PersonInList[] = []
  const wanted = sources.filter((one) => source === undefined || one === source)
  for (const one of wanted.slice(
    Math.max(
      wanted.findIndex((name) => name === reached),
      0,
    ),
  )) {
    const page = await pageOf(deployment, one, one === reached ? last : undefined, limit - found.length)
    for (const person of page)
      found.push({ ...person, position: `${one}:${one === 'store' ? (person.username ?? '') : person.sub}` })
    if (found.length >= limit) break
  }
  return found
}

const findBySub = async ({ config, stores }: Deployment, sub: string): Promise<FoundPerson> => {
  if (!isSubject(sub)) return { sub, claims: {} }
  const configured = config.accounts.find((account) => account.sub === sub)
  const store = openAccountStore(stores.records)
  if (configured !== undefined) return configuredPerson(store, configured)
  const { accounts, subjects } = store
  const entry = await subjects.find(sub)
  const account = entry && (await accounts.find(entry.username))
  if (account?.sub === sub) return accountPerson(account, 'store')
  const external = await findExternalAccount(collections(stores).externalAccounts, sub)
  return external === undefined ? { sub, claims: {} } : externalPerson(external)
}

/**
 * Finds the person with this name. `unknown`: no account has the username. Any `sub` is accepted. Throws
 * `Unavailable`.
 */
export const findPerson = async (deployment: Deployment, who: Who): Promise<FoundPerson | Refusal<'unknown'>> => {
  if (who.sub !== undefined) return findBySub(deployment, who.sub)
  const { config, stores } = deployment
  const configured = findConfiguredAccount(config, who.username)
  if (configured !== undefined) return configuredPerson(openAccountStore(stores.records), configured)
  const found = await findAccount(openAccountStore(stores.records), who.username)
  return found === undefined ? { refused: 'unknown' } : accountPerson(found.account, 'store')
}

/** Returns the members by which the audit log names the person. */
export const whose = ({ username, sub }: Who) => ({
  ...(username !== undefined && { username }),
  ...(sub !== undefined && { sub }),
})
