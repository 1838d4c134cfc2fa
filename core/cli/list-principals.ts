import { listPrincipals } from '../administration/principals.js'
import { withStores } from './deployment.js'
import { printError, printJson, printJsonLine } from './output.js'
import { fingerprint } from './principal-names.js'
import { describePrincipal, readRegistered, type PrincipalsOptions } from './principals.js'
import { printList, type Cell } from './table.js'

export interface ListOptions extends PrincipalsOptions {
  readonly state?: 'active' | 'revoked'
  readonly subject?: string
  readonly type?: string
  readonly limit?: number
  readonly after?: string
  readonly jsonLines?: true
}

type Row = ReturnType<typeof describePrincipal> & { readonly id: string }

/** The most rows that people will read. */
const tableLimit = 1000

/**
 * Implements `signet principals list`. JSON Lines are printed as they are read, so that memory does not limit their
 * number.
 */
export const printPrincipals = async (options: ListOptions): Promise<void> => {
  const { config } = await readRegistered(options)
  const { json, jsonLines, limit = json || jsonLines ? Infinity : tableLimit } = options
  const rows: Row[] = []
  let count = 0
  let last: string | undefined
  await withStores(config, async (stores) => {
    for await (const { id, ...status } of listPrincipals({ config, stores }, options)) {
      const row = { id, ...describePrincipal(status.enrolment.principal, status) }
      // One more row than fits means that there are more.
      if (count === limit) return printError(`There are more: --after ${last ?? ''}`)
      count += 1
      last = row.id
      if (jsonLines) printJsonLine(row)
      else rows.push(row)
    }
  })
  if (jsonLines) return
  if (json) return printJson(rows)
  printList(
    'principals',
    ['SUBJECT', 'PRINCIPAL_ID', 'TYPE', 'KEY', 'STATE', 'ENROLLED'],
    rows.map((row) => [
      ...[row.subject, row.principal_id, row.principal_type, fingerprint(row.jkt ?? '')],
      ...[stateCell(row.state), row.enrolled_at ?? ''],
    ]),
  )
}

const stateCell = (state: string): Cell => (state === 'revoked' ? { text: state, tone: 'red' } : state)
