import { readFile } from 'node:fs/promises'
import { describeReadFault } from '../../config/problems.js'
import type { Principal } from '../attestation/ports.js'
import { readPrincipal } from '../attestation/read-body.js'
import { OAuthError } from '../oauth/errors.js'
import { CommandFailed } from './failure.js'

const columns = ['subject', 'principal_id', 'principal_type'] as const

/**
 * Reads the principals of a CSV file (RFC 4180) whose first line names the columns `subject`, `principal_id` and,
 * unless all are of `type`, `principal_type`. Throws `CommandFailed` with every line that is wrong.
 */
export const readPrincipalList = async (file: string, type: string): Promise<readonly Principal[]> => {
  const [head = [], ...rows] = await parseCsv(await readText(file))
  const unknown = head.find((name) => !columns.some((column) => column === name))
  if (unknown !== undefined || !head.includes('subject') || !head.includes('principal_id'))
    throw new CommandFailed(`The first line of ${file} must name the columns: ${columns.join(',')}`)
  const problems: string[] = []
  const seen = new Map<string, number>()
  const principals = rows.flatMap((row, index): readonly Principal[] => {
    const line = index + 2
    const named = Object.fromEntries(head.map((name, column) => [name, row[column] ?? '']))
    const key = JSON.stringify(columns.map((column) => named[column]))
    const before = seen.get(key)
    seen.set(key, line)
    try {
      if (row.length !== head.length) throw new CommandFailed(`has ${String(row.length)} columns`)
      if (before !== undefined) throw new CommandFailed(`repeats record ${String(before)}`)
      return [readPrincipal({ principal_type: type, ...named })]
    } catch (error) {
      if (!(error instanceof OAuthError || error instanceof CommandFailed)) throw error
      problems.push(`record ${String(line)}: ${error instanceof OAuthError ? error.description : error.message}`)
      return []
    }
  })
  if (problems.length > 0) throw new CommandFailed(problems.join('\n'))
  return principals
}

const readText = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new CommandFailed(`${file} ${describeReadFault(error)}`)
  }
}

/**
 * Returns the records without empty lines. The caller checks how many fields each must have, for all records at once.
 */
const parseCsv = async (text: string): Promise<readonly (readonly string[])[]> => {
  const { CsvError, parse } = await import('csv-parse/sync')
  try {
    return parse(text, { bom: true, skip_empty_lines: true, relax_column_count: true })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    throw new CommandFailed(`Line ${String(error.lines)} is not CSV: see RFC 4180.`)
  }
}
