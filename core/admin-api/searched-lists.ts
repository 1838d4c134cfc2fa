import type { AccountSource, FoundPerson } from '../administration/accounts.js'
import type { Operator } from '../administration/administration.js'
import { listClientsAfter, type ListedClient } from '../administration/clients.js'
import { findPeople, pagePeople } from '../administration/person-pages.js'
import { searchClients } from '../administration/search.js'
import type { ApiParts } from './api-route.js'
import { readPage, readSearchPage } from './lists.js'

/** The parameters of a list that can be searched. */
interface SearchedListQuery {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly search?: string | undefined
}

interface ListPage<Item> {
  readonly items: readonly Item[]
  readonly next_cursor?: string
}

/** Reads a page of clients: all of them by id, or those that a search finds. Throws `Problem`, `Unavailable`. */
export const readClients = (parts: ApiParts, query: SearchedListQuery): Promise<ListPage<ListedClient>> => {
  const { search, limit } = query
  const asked = { query, cursors: parts.cursors }
  if (search !== undefined)
    return readSearchPage(asked, `clients ${search}`, (after) => searchClients(parts, { query: search, after, limit }))
  return readPage(asked, {
    name: 'clients',
    read: (after, most) => listClientsAfter(parts, after, most),
    idOf: ({ client_id }) => client_id,
  })
}

/** Reads a page of people: all of them, or those that a search finds. Throws `Problem`, `Unavailable`. */
export const readPeople = (
  parts: ApiParts,
  by: Operator,
  query: SearchedListQuery & { readonly source?: AccountSource | undefined },
): Promise<ListPage<FoundPerson>> => {
  const { source, search, limit } = query
  const asked = { query, cursors: parts.cursors }
  if (search !== undefined)
    return readSearchPage(asked, `people ${JSON.stringify([source, search])}`, (after) =>
      findPeople(parts, by, { query: search, source, after, limit }),
    )
  return readPage(asked, {
    name: `people ${source ?? ''}`,
    read: (after, most) => pagePeople(parts, by, { source, after }, most),
    idOf: ({ position }) => position,
  })
}
