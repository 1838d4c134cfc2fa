import type { JsonObject, RecordStore } from '../../../core/api/index.js'
import { stepSeconds } from './one-time-password.js'

/** The steps whose passwords were used, of each principal, for as long as one of them could come again. */
export const createUsedSteps = (records: RecordStore<JsonObject>, window: number, clockToleranceSeconds: number) => {
  // A replay by a clock that is behind must still find it.
  const ttlSeconds = (2 * window + 1) * stepSeconds + clockToleranceSeconds
  const prefixOf = (digest: string): string => `totp_used:${digest}:`

  return {
    /** -1 where none was. Throws `Unavailable`. */
    async findLast(digest: string): Promise<number> {
      const prefix = prefixOf(digest)
      // Within its time no more steps than these can come.
      const most = Math.ceil(ttlSeconds / stepSeconds) + 2 * window + 1
      const found = await records.list(prefix, most)
      const steps = found.flatMap(({ id }) => (id.startsWith(prefix) ? [Number(id.slice(prefix.length))] : []))
      return Math.max(-1, ...steps)
    },
    /** Of N callers exactly one gets true. Throws `Unavailable`. */
    claim: (digest: string, step: number): Promise<boolean> =>
      records.put(`${prefixOf(digest)}${String(step)}`, {}, { ttlSeconds, onlyIfAbsent: true }),
  }
}
