import { Unavailable } from '../../unavailable.js'
import type { AuditReader } from './audit-reader.js'
import { searchLog } from './search.js'
import { extendIndexes } from './extend-indexes.js'
import { verifyRange } from './verify-range.js'

const readable = <T>(work: () => T): T => {
  try {
    return work()
  } catch (cause) {
    throw new Unavailable('audit', 'no', 'the audit log cannot be read', { cause })
  }
}

/** Makes the index as far as this process may write it. */
const index = (path: string): void => {
  try {
    const steps = extendIndexes(path)
    while (steps.next().done === false);
  } catch {
    // A search finds the same without it.
  }
}

/** Reads the log at `path` in this thread, for a command. It brings the index up to date before its first search. */
export const createDirectReader = (path: string): AuditReader => {
  let isIndexed = false
  return {
    search(search) {
      if (!isIndexed) index(path)
      isIndexed = true
      return Promise.resolve(readable(() => searchLog({ path, ...search })))
    },
    verify: (range) => verifyRange({ path, ...range }),
  }
}
