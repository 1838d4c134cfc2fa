import type { JsonObject } from '../../../core/api/index.js'
import type { RecordStore, ReplayGuard } from '../../../core/api/storage.js'
import { stepSeconds } from '../../../core/api/internal.js'

/**
 * The steps whose passwords were used, of each principal, for as long as one of them could come again. The claim decides; as
 * it cannot be read, there is a note of it too.
 */
export const createUsedSteps = (options: {
  readonly kind: string
  readonly claims: ReplayGuard
  readonly records: RecordStore<JsonObject>
  readonly window: number
  readonly clockToleranceSeconds: number
}) => {
  const { kind, claims, records, window, clockToleranceSeconds } = options
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
    async claim(digest: string, step: number): Promise<boolean> {
      if (!(await claims.claim(kind, `${digest}:${String(step)}`, ttlSeconds))) return false
      // Used it is. Without the note a replay, which wins nothing, is only not counted.
      await records.put(`${prefixOf(digest)}${String(step)}`, {}, { ttlSeconds }).catch(() => undefined)
      return true
    },
  }
}
