import type { Administration, Operator } from './administration.js'

/** Whose data an operator reads, and which, as the audit log records it. */
export interface Reading {
  readonly action: string
  readonly sub?: string
}

/**
 * Reads personal data. With `audit.reads` the audit log records who has read it, and about whom, before anybody sees
 * it. Throws `Unavailable` when that cannot be recorded, and what `work` throws.
 */
export const reading = async <T>(
  { config, audit }: Pick<Administration, 'config' | 'audit'>,
  by: Operator,
  what: Reading,
  work: () => Promise<T>,
  subjectsOf?: (read: T) => readonly string[],
): Promise<T> => {
  const read = await work()
  if (config.audit === 'stdout' || config.audit.reads !== true) return read
  await audit.record({ event: 'administration.read', ...what, ...(subjectsOf && { subs: subjectsOf(read) }), by })
  return read
}
