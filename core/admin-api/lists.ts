import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { createSharedSecret } from '../oauth/clients/shared-secret.js'
import type { RecordStore } from '../storage/ports.js'
import { Problem } from './problem.js'

/** The parameters of every list. */
export const listQuery = {
  limit: z.coerce.number().int().min(1).max(200).default(50).describe('How many items to return at the most.'),
  cursor: z.string().max(2048).optional().describe('`next_cursor` of the previous page.'),
} as const

/** The answer of every list. `next_cursor` is absent on the last page. */
export const listOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next_cursor: z.string().optional() })

/**
 * Cursors say where a list continues: after an id, never at an offset. They are signed, so that nobody can name a
 * position that no list has given out, and each belongs to one list with its filters.
 */
export interface Cursors {
  /** `list` names the list with its filters; `after` is the id of its last item. Throws `Unavailable`. */
  write(list: string, after: string): Promise<string>
  /** Throws `Problem` for a cursor that is not of this list, and `Unavailable`. */
  read(list: string, cursor: string): Promise<string>
}

const refuse = (): never => {
  throw new Problem(400, 'invalid_cursor', 'The cursor is not one of this list.')
}

/** Creates the cursors of all replicas, which share a secret. */
export const createCursors = (secrets: RecordStore<string>): Cursors => {
  const secret = createSharedSecret(secrets, 'admin_cursors')
  const sign = async (list: string, after: string): Promise<Buffer> =>
    createHmac('sha256', await secret())
      .update(JSON.stringify([list, after]))
      .digest()
  return {
    write: async (list, after) =>
      `${Buffer.from(after).toString('base64url')}.${(await sign(list, after)).toString('base64url')}`,
    read: async (list, cursor) => {
      const [, position, signature] = /^([\w-]+)\.([\w-]{43})$/.exec(cursor) ?? refuse()
      const after = Buffer.from(position ?? '', 'base64url').toString()
      const isOurs = timingSafeEqual(Buffer.from(signature ?? '', 'base64url'), await sign(list, after))
      return isOurs ? after : refuse()
    },
  }
}

/** The parameter of lists that can be searched. */
export const searchQuery = {
  search: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe(
      'Words, or their beginnings; the item has all of them, without regard to case and accents. A page may have fewer items than `limit`, or none, and yet a next one.',
    ),
} as const

/** One list with its filters. */
export interface PagedList<Item> {
  /** The name of the list with its filters, to which its cursors belong. */
  readonly name: string
  /** Reads at most `limit` items after this id, in the order of ids. */
  read(after: string | undefined, limit: number): Promise<readonly Item[]>
  readonly idOf: (item: Item) => string
}

interface ListQuery {
  readonly limit: number
  readonly cursor?: string | undefined
}

/**
 * Reads the page of a list whose records may be over: `read` returns up to `limit` that are not, and where the next
 * page begins. Throws `Problem`, `Unavailable`.
 */
export const readLivePage = async <Item>(
  { query, cursors }: { readonly query: ListQuery; readonly cursors: Cursors },
  name: string,
  read: (
    after: string | undefined,
    limit: number,
  ) => Promise<{ readonly found: readonly Item[]; readonly next?: string }>,
): Promise<{ readonly items: readonly Item[]; readonly next_cursor?: string }> => {
  const { limit, cursor } = query
  const { found, next } = await read(cursor === undefined ? undefined : await cursors.read(name, cursor), limit)
  return { items: found, ...(next !== undefined && { next_cursor: await cursors.write(name, next) }) }
}

/** Reads the page of a list that a request asks for. Throws `Problem`, `Unavailable`. */
export const readPage = async <Item>(
  { query, cursors }: { readonly query: ListQuery; readonly cursors: Cursors },
  { name, read, idOf }: PagedList<Item>,
): Promise<{ readonly items: Item[]; readonly next_cursor?: string }> => {
  const { limit, cursor } = query
  const after = cursor === undefined ? undefined : await cursors.read(name, cursor)
  const found = await read(after, limit + 1)
  const items = found.slice(0, limit)
  const last = items.at(-1)
  if (found.length <= limit || last === undefined) return { items }
  return { items, next_cursor: await cursors.write(name, idOf(last)) }
}

/** Reads the page of a search that a request asks for. Throws `Problem`, `Unavailable`. */
export const readSearchPage = async <Item>(
  { query, cursors }: { readonly query: ListQuery; readonly cursors: Cursors },
  name: string,
  read: (after: string | undefined) => Promise<{ readonly items: readonly Item[]; readonly next?: string }>,
): Promise<{ readonly items: readonly Item[]; readonly next_cursor?: string }> => {
  const { items, next } = await read(query.cursor === undefined ? undefined : await cursors.read(name, query.cursor))
  return next === undefined ? { items } : { items, next_cursor: await cursors.write(name, next) }
}
