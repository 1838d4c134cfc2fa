import { collections } from '../collections/collections.js'
import type { RecordStore } from '../storage/ports.js'
import { entryPrefix, firstWith, wordOfEntry, type SearchEntry, type SearchKind } from '../storage/search-index.js'
import {
  hasWords,
  listingWords,
  termsOfClient,
  termsOfPerson,
  wordsOf,
  type SearchTerms,
} from '../storage/search-terms.js'
import { findPerson, listConfiguredPeople, type AccountSource, type FoundPerson } from './accounts.js'
import type { Deployment } from './administration.js'
import { findListedClient, listConfiguredClients, type ListedClient } from './clients.js'

/** A search for records with words that begin with those of `query`. */
export interface Search {
  readonly query: string
  /** The `next` of the previous page. */
  readonly after?: string | undefined
  readonly limit: number
}

/** A page may have fewer records than its limit, or none, and yet a next one: many entries were not right. */
export interface SearchPage<Found> {
  readonly items: readonly Found[]
  readonly next?: string
}

/** Entries that one page reads at the most. */
const maxEntries = 300
const pageSize = 50

interface Searched<Found> {
  readonly kind: SearchKind
  /** Items that the index lacks. They come first on the first page. */
  readonly first: (words: readonly string[]) => Promise<readonly Found[]>
  readonly find: (of: string) => Promise<Found | undefined>
  readonly termsOf: (found: Found) => SearchTerms
}

/**
 * Chooses the word with the fewest entries, as far as one page shows it; a search continues with the word of its
 * position. Undefined: there is none.
 */
const chooseWord = async (
  index: Pick<RecordStore<SearchEntry>, 'list'>,
  kind: SearchKind,
  words: readonly string[],
  after: string | undefined,
): Promise<string | undefined> => {
  if (after !== undefined) return words.find((word) => after.startsWith(entryPrefix(kind, word)))
  const counts = await Promise.all(
    words.map(async (word) => {
      const prefix = entryPrefix(kind, word)
      return (await index.list(prefix, pageSize)).filter(({ id }) => id.startsWith(prefix)).length
    }),
  )
  const least = Math.min(...counts)
  return words[counts.indexOf(least)]
}

const searchFor = async <Found>(
  { stores }: Deployment,
  { query, after, limit }: Search,
  { kind, first, find, termsOf }: Searched<Found>,
): Promise<SearchPage<Found>> => {
  const words = wordsOf(query)
  if (words.length === 0) return { items: [] }
  // An item with exactly this id is on the first page, and nowhere else.
  const exact = query.trim()
  const named = after === undefined ? await find(exact) : undefined
  const known = after === undefined ? await first(words) : []
  const items = [...known, ...(named === undefined ? [] : [named])].slice(0, limit)
  const { searchIndex } = collections(stores)
  const listed = await chooseWord(searchIndex, kind, listingWords(query), after)
  if (listed === undefined) return { items }
  const prefix = entryPrefix(kind, listed)
  let position = after ?? prefix
  for (let read = 0; read < maxEntries;) {
    const page = (await searchIndex.list(position, pageSize)).filter(({ id }) => id.startsWith(prefix))
    const found = await Promise.all(page.map(({ record }) => find(record.of)))
    for (const [place, { id }] of page.entries()) {
      position = id
      const one = found[place]
      if (one === undefined || page[place]?.record.of === exact) continue
      const terms = termsOf(one)
      // A record with several words of this beginning is listed by the first of them.
      const isListed = firstWith(terms.listed, listed) === wordOfEntry(id)
      if (isListed && hasWords(terms, words)) items.push(one)
      if (items.length >= limit) return { items, next: position }
    }
    if (page.length < pageSize) return { items }
    read += page.length
  }
  return { items, next: position }
}

/** Finds clients by words of their name and id. Throws `Unavailable`. */
export const searchClients = (deployment: Deployment, search: Search): Promise<SearchPage<ListedClient>> => {
  const find = (clientId: string) => findListedClient(deployment, clientId)
  return searchFor(deployment, search, {
    ...{ kind: 'client', find, termsOf: termsOfClient },
    first: (words) =>
      Promise.resolve(listConfiguredClients(deployment).filter((client) => hasWords(termsOfClient(client), words))),
  })
}

/** Finds people by words of their name, username, address and subject. Throws `Unavailable`. */
export const searchPeople = (
  deployment: Deployment,
  search: Search & { readonly source?: AccountSource | undefined },
): Promise<SearchPage<FoundPerson>> => {
  const isMeant = (person: FoundPerson): boolean => search.source === undefined || person.source === search.source
  return searchFor(deployment, search, {
    kind: 'person',
    async find(sub) {
      const person = await findPerson(deployment, { sub })
      if ('refused' in person || person.source === undefined || person.source === 'configuration') return undefined
      return isMeant(person) ? person : undefined
    },
    termsOf: termsOfPerson,
    first: async (words) =>
      (await listConfiguredPeople(deployment)).filter(
        (person) => isMeant(person) && hasWords(termsOfPerson(person), words),
      ),
  })
}
