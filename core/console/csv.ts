import type { JsonObject, JsonValue } from '../json.js'

/** A spreadsheet takes a text that begins so as a formula, which could fetch or run something. */
const formula = /^[=+\-@\t\r]/

const cellOf = (value: JsonValue | undefined): string => {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const safe = formula.test(text) && typeof value !== 'number' ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Writes objects as CSV (RFC 4180) that no spreadsheet takes for formulas: one column for each member of any of them. */
export const toCsv = (lines: readonly JsonObject[]): string => {
  const columns = [...new Set(lines.flatMap(Object.keys))]
  const rows = lines.map((line) => columns.map((column) => cellOf(line[column])).join(','))
  return [columns.map(cellOf).join(','), ...rows].map((row) => `${row}\r\n`).join('')
}
