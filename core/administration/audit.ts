import type { AuditReader } from '../observe/audit-search/audit-reader.js'
import type { AuditPage, AuditPosition } from '../observe/audit-search/search.js'
import { changeEvents, type AuditFilter } from '../observe/audit-search/terms.js'
import type { AuditRangeVerification } from '../observe/audit-search/verify-range.js'
import type { Refusal } from './administration.js'

/** The audit log of this host. Absent when it is printed to standard output, where nobody can search it. */
export interface SearchedLog {
  readonly auditReader?: AuditReader | undefined
}

export interface AuditQuery {
  readonly filter: AuditFilter
  readonly limit: number
  /** The position at which the previous page ended. */
  readonly from?: AuditPosition | undefined
}

/** Milliseconds for one page, and for one verification. */
const searchMs = 1000
const verifyMs = 1500

const noFile: Refusal<'no_audit_file'> = { refused: 'no_audit_file' }

/**
 * Reads one page of the lines that a filter finds, the newest first. A page may be short, or empty, and have `next`:
 * the time was over. Throws `Unavailable`.
 */
export const findAuditLines = async (
  { auditReader }: SearchedLog,
  { filter, limit, from }: AuditQuery,
): Promise<AuditPage | Refusal<'no_audit_file'>> =>
  auditReader === undefined
    ? noFile
    : auditReader.search({ filter, limit, budgetMs: searchMs, ...(from !== undefined && { from }) })

/** Verifies the chains of a range of the log, for as long as a request may take. Throws `Unavailable`. */
export const verifyAuditRange = async (
  { auditReader }: SearchedLog,
  range: { readonly since?: number; readonly until?: number },
): Promise<AuditRangeVerification | Refusal<'no_audit_file'>> =>
  auditReader === undefined ? noFile : auditReader.verify({ ...range, budgetMs: verifyMs })

/** Returns a filter of changes: who changed what. */
export const changesOnly = (filter: AuditFilter): AuditFilter => ({ ...filter, events: changeEvents })

/** Reads everything that a filter finds, page by page, the newest lines first. Throws `Unavailable`. */
export const eachAuditPage = async function* (
  auditReader: AuditReader,
  filter: AuditFilter,
): AsyncGenerator<AuditPage> {
  let from: AuditPosition | undefined
  do {
    const page = await auditReader.search({ filter, limit: 1000, budgetMs: searchMs, ...(from && { from }) })
    yield page
    from = page.next
  } while (from !== undefined)
}
