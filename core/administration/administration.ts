import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import type { Stores } from '../collections/stores.js'
import type { JsonValue } from '../json.js'
import type { ActedBy } from '../observe/acted-by.js'
import type { AuditLog } from '../observe/audit.js'
import { kindOf } from '../operators/action.js'
import { Unavailable } from '../unavailable.js'

/** A deployment, for functions that only read. */
export interface Deployment {
  readonly config: Config
  readonly stores: Stores
}

/** A deployment for functions that read data which depends on the time. */
export interface TimedDeployment extends Deployment {
  readonly clock: Clock
}

/**
 * Everything that a change of a deployment needs. A command opens one for a single change; a service keeps one while
 * it runs.
 */
export interface Administration extends TimedDeployment {
  readonly audit: AuditLog
  /**
   * This is called when a change was made and the audit log has only its beginning. The change stands, and its result
   * is still returned.
   */
  unrecorded(error: Unavailable): void
  /** The id of the approval of other operators by which a change is carried out. */
  readonly approval?: string
}

/** The person who makes a change, and how that person reached Signet. The audit log records it as `by`. */
export type Operator = ActedBy

/** A change that was not made, with the cause; `reason` is a sentence for the operator. */
export interface Refusal<Why extends string = string> {
  readonly refused: Why
  readonly reason?: string
}

export const isRefusal = (result: unknown): result is Refusal =>
  typeof result === 'object' && result !== null && 'refused' in result

/** A change as the audit log records it. */
export interface Change {
  readonly action: string
  readonly [whom: string]: JsonValue
}

/** Adds details to the record of a change while it is being made. */
export type NoteChange = (more: Readonly<Record<string, JsonValue>>) => void

/**
 * Makes a change: records its beginning, runs `work`, and records that it was made unless `work` returns a refusal. A
 * change that cannot be recorded does not begin. Throws `Unavailable`, and what `work` throws.
 */
export const change = async <T>(
  { audit, unrecorded, approval, config }: Pick<Administration, 'audit' | 'unrecorded' | 'approval' | 'config'>,
  by: Operator,
  change: Change,
  work: (note: NoteChange) => Promise<T>,
): Promise<T> => {
  const kind = kindOf(change.action)
  // `requireApproval` is called before. This is for a change that has forgotten it.
  if (kind !== undefined && config.dual_control[kind] > 0 && approval === undefined)
    throw new Error('a change under dual control has no approval')
  const what = { ...change, ...(approval !== undefined && { approval }) }
  await audit.record({ event: 'administration.begun', ...what, by })
  const noted: Record<string, JsonValue> = {}
  const result = await work((more) => void Object.assign(noted, more))
  if (isRefusal(result)) return result
  try {
    await audit.record({ event: 'administration', ...what, ...noted, by })
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    unrecorded(error)
  }
  return result
}

/** Reads all records of a collection, page by page. */
export const listAll = async <T>(
  page: (after: string | undefined) => Promise<readonly T[]>,
  idOf: (record: T) => string,
): Promise<readonly T[]> => {
  const all: T[] = []
  let records = await page(undefined)
  while (records.length > 0) {
    all.push(...records)
    records = await page(records.map(idOf).at(-1))
  }
  return all
}
