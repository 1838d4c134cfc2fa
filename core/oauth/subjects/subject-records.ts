import type { RecordStore } from '../../storage/ports.js'
import { hashOpaqueToken } from '../../opaque-token.js'

const prefixOf = (subject: string): string => `${hashOpaqueToken(subject)}.`

/**
 * Returns the id of one of a subject's records. Ids sort so that those of one subject are together. `name` is
 * `[\w-]`.
 */
export const subjectRecordId = (subject: string, name: string): string => prefixOf(subject) + name

/** Some of a subject's records in one collection, in the order of their names. */
export interface SubjectRecordPage<T> {
  readonly entries: readonly { readonly name: string; readonly record: T }[]
  /** Tells whether there are more after the last one. */
  readonly more: boolean
}

/** Returns at most `limit` records of a subject, after the one named `after`. Throws `Unavailable`. */
export const pageSubjectRecords = async <T>(
  store: RecordStore<T>,
  subject: string,
  after: string | undefined,
  limit: number,
): Promise<SubjectRecordPage<T>> => {
  const prefix = prefixOf(subject)
  const found = await store.list(prefix + (after ?? ''), limit + 1)
  const own = found.filter(({ id }) => id.startsWith(prefix))
  const entries = own.slice(0, limit).map(({ id, record }) => ({ name: id.slice(prefix.length), record }))
  return { entries, more: own.length > limit }
}

const pageSize = 100

/** Returns all records of a subject in one collection. Throws `Unavailable`. */
export const listSubjectRecords = async <T>(store: RecordStore<T>, subject: string): Promise<readonly T[]> => {
  const all: T[] = []
  for (let after: string | undefined; ;) {
    const { entries, more } = await pageSubjectRecords(store, subject, after, pageSize)
    all.push(...entries.map(({ record }) => record))
    after = entries.at(-1)?.name
    if (!more) return all
  }
}
