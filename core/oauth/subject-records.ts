import type { RecordStore } from '../storage/ports.js'
import { hashOpaqueToken } from '../opaque-token.js'

const prefixOf = (subject: string): string => `${hashOpaqueToken(subject)}.`

/** The id of one of a subject's records: in the order of ids those of one subject stand together. `name` is `[\w-]`. */
export const subjectRecordId = (subject: string, name: string): string => prefixOf(subject) + name

const pageSize = 100

/** All records of a subject in one collection. Throws `Unavailable`. */
export const listSubjectRecords = async <T>(store: RecordStore<T>, subject: string): Promise<readonly T[]> => {
  const prefix = prefixOf(subject)
  const all: T[] = []
  let after = prefix
  for (;;) {
    const page = await store.list(after, pageSize)
    const own = page.filter(({ id }) => id.startsWith(prefix))
    all.push(...own.map(({ record }) => record))
    if (own.length < pageSize) return all
    after = own.at(-1)?.id ?? after
  }
}
