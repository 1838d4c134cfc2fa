import type { JsonObject } from '../../../core/api/index.js'
import type { RecordStore, ReplayGuard } from '../../../core/api/storage.js'
import { stepSeconds } from '../../../core/api/internal.js'

/**
 * The used steps of each principal, kept as long as one of them could be repeated. The claim decides; because it
 * cannot be read, a record is kept too.
 */
export const createUsedSteps = (options: {
  readonly kind: string
  readonly claims: ReplayGuard
  readonly records: RecordStore<JsonObject>
  readonly window: number
  readonly clockToleranceSeconds: number
}) => {
  const { kind, claims, records, window, clockToleranceSeconds } = options
  // A replay through a clock that is behind must still find it.
  const ttlSeconds = (2 * window + 1) * stepSeconds + clockToleranceSeconds
  const prefixOf = (digest: string): string => `totp_used:${digest}:`

  return {
    /** -1 if there is none. Throws `Unavailable`. */
    async findLast(digest: string): Promise<number> {
      const prefix = prefixOf(digest)
      // The most steps that can occur within its lifetime.
      const most = Math.ceil(ttlSeconds / stepSeconds) + 2 * window + 1
      const found = await records.list(prefix, most)
      const steps = found.flatMap(({ id }) => (id.startsWith(prefix) ? [Number(id.slice(prefix.length))] : []))
      return Math.max(-1, ...steps)
    },
    /** Exactly one of N callers gets true. Throws `Unavailable`. */
    async claim(digest: string, step: number): Promise<boolean> {
      if (!(await claims.claim(kind, `${digest}:${String(step)}`, ttlSeconds))) return false
      // It counts as used. Without the record, a replay, which gains nothing, is only not counted.
      await records.put(`${prefixOf(digest)}${String(step)}`, {}, { ttlSeconds }).catch(() => undefined)
      return true
    },
  }
}
