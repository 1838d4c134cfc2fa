import type { AccountRecord } from '../interaction/account-directory.js'
import type { ExternalAccount } from '../interaction/external-accounts.js'
import type { Client } from '../oauth/clients/client.js'
import type { StorageBackend } from '../storage/ports.js'
import {
  completeEntries,
  searchIndexName,
  type Searchable,
  type SearchedCollection,
  type SearchEntry,
} from '../storage/search-index.js'
import { termsOfClient, termsOfPerson } from '../storage/search-terms.js'

/** A client that registered itself is found by its id alone until it is used: anybody can register many. */
const searchableClient = (client: Client): Searchable | undefined =>
  client.registration?.unused_until === undefined
    ? { of: client.client_id, words: termsOfClient(client).listed }
    : undefined

const searchableAccount = (account: AccountRecord): Searchable => ({
  of: account.sub,
  words: termsOfPerson(account).listed,
})

const searchableExternal = ({ subject, claims }: ExternalAccount): Searchable | undefined =>
  claims === undefined ? undefined : { of: subject, words: termsOfPerson({ sub: subject, claims }).listed }

/** The collections whose records operators search, by name. */
export const searchedCollections: ReadonlyMap<string, SearchedCollection> = new Map<string, SearchedCollection>([
  ['clients', { kind: 'client', searchable: searchableClient }],
  ['accounts', { kind: 'person', searchable: searchableAccount }],
  ['external_accounts', { kind: 'person', searchable: searchableExternal }],
])

const pageSize = 500

/**
 * Adds what the index lacks of records that versions without it have written. Resolves with the number of records.
 * It may be repeated, and may run beside the service. Throws `Unavailable`.
 */
export const indexForSearch = async (records: StorageBackend): Promise<number> => {
  const entries = records.records<SearchEntry>(searchIndexName)
  let count = 0
  for (const [name, { kind, searchable }] of searchedCollections) {
    const store = records.records<never>(name)
    for (let after: string | undefined; ;) {
      const page = await store.list(after, pageSize)
      const found = page.flatMap(({ record }) => searchable(record) ?? [])
      await completeEntries(entries, kind, found)
      count += found.length
      after = page.at(-1)?.id
      if (after === undefined) break
    }
  }
  return count
}
