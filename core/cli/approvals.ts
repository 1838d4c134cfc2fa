import { isRefusal } from '../administration/administration.js'
import { declineApproval, listApprovals, readApproval } from '../administration/approvals.js'
import { breakGlass } from '../administration/break-glass.js'
import { isoTime } from '../clock.js'
import { administer, readDeployment, withStores, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printError, printFields, printJson } from './output.js'
import { readPassword } from './password.js'
import { printList } from './table.js'

export interface ApprovalOptions extends DeploymentOptions {
  readonly json?: true
}

export interface RefuseOptions extends ApprovalOptions {
  readonly reason?: string
}

export interface ApproveOptions extends ApprovalOptions {
  readonly breakGlass: string
}

const sentences: Readonly<Record<string, string>> = {
  unknown: 'There is no such approval.',
  over: 'It was decided already.',
  expired: 'It has expired.',
  no_secret: 'The configuration has no break_glass_secret.',
  wrong_secret: 'The secret is not the break_glass_secret of the configuration.',
}

const failed = (refused: string): CommandFailed => new CommandFailed(sentences[refused] ?? refused)

const pageSize = 200

/** Implements `signet approvals list`. */
export const printApprovals = async (options: ApprovalOptions): Promise<void> => {
  const config = await readDeployment(options)
  const found = await withStores(config, (stores) =>
    listApprovals({ config, stores, clock: Date.now }, undefined, pageSize),
  )
  const rows = found.map(({ id, action, state, isExpired, approvedBy, expiresAt }) => ({
    ...{ id, action: action.action, object: action.object, requested_by: action.requested_by.operator },
    ...{ state: isExpired ? 'expired' : state, approved_by: approvedBy, expires_at: isoTime(expiresAt) },
  }))
  if (options.json) return printJson(rows)
  printList(
    'approvals',
    ['ID', 'ACTION', 'OBJECT', 'BY', 'STATE', 'APPROVED BY', 'EXPIRES'],
    rows.map((row) => [
      ...[row.id, row.action, row.object, row.requested_by, row.state],
      ...[row.approved_by.join(' '), row.expires_at],
    ]),
  )
}

/** Implements `signet approvals show`. */
export const printApproval = async (id: string, options: ApprovalOptions): Promise<void> => {
  const config = await readDeployment(options)
  const found = await withStores(config, (stores) => readApproval({ config, stores, clock: Date.now }, id))
  if (found === undefined) throw failed('unknown')
  const { action, digest, document, approvedBy, isExpired } = found
  const state = isExpired ? 'expired' : found.state
  if (options.json) return printJson({ id, state, digest, document, approved_by: approvedBy })
  printFields({ id, state, needed: String(action.approvals), 'approved by': approvedBy.join(' '), digest })
  print(JSON.stringify(action, null, 2))
}

/** Implements `signet approvals refuse`. */
export const refuseApproval = async (id: string, options: RefuseOptions): Promise<void> => {
  const config = await readDeployment(options)
  const input = { id, reason: options.reason }
  const result = await administer(config, (administration, by) => declineApproval(administration, by, input))
  if (isRefusal(result)) throw failed(result.refused)
  if (options.json) return printJson({ id, state: 'refused' })
  print(`Refused ${id}`)
}

/** Implements `signet approve --break-glass`, which reads the secret from standard input. */
export const approveWithoutOthers = async (id: string, options: ApproveOptions): Promise<void> => {
  const config = await readDeployment(options)
  if (config.break_glass_secret === undefined) throw failed('no_secret')
  const input = { id, reason: options.breakGlass, secret: await readPassword() }
  const result = await administer(config, (administration, by) => breakGlass(administration, by, input))
  if (isRefusal(result)) throw failed(result.refused)
  printError(`Nobody has approved ${id}. The audit log has the reason that you gave: approval.broken_glass.`)
  if (result.state !== 'done') throw new CommandFailed(`It was not carried out: ${result.note ?? result.state}.`)
  if (options.json) return printJson({ id, state: result.state })
  print(`Carried out ${id}`)
}
