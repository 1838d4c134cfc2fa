import { isRefusal } from '../administration/administration.js'
import { decideEnrolment, denyEnrolments, listWaitingEnrolments } from '../administration/enrolments.js'
import { isoTime } from '../clock.js'
import { administerPlugins, checkDeployment, withPlugins } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { fingerprint, nameOf, toWire } from './principal-names.js'
import type { PrincipalsOptions } from './principals.js'
import { printList } from './table.js'

const noApprovals = (): CommandFailed =>
  new CommandFailed('The configuration has no second factor that a person approves: add plugins/attestation/approval.')

/** Implements `signet principals waiting`. */
export const printWaiting = async (options: PrincipalsOptions): Promise<void> => {
  const checked = await checkDeployment(options)
  const rows = await withPlugins(checked, ({ secondFactors }) => listWaitingEnrolments(secondFactors))
  if (isRefusal(rows)) throw noApprovals()
  const shown = rows.map(({ id, kind, principal, jkt, message, attributes, address, requestedAt }) => {
    const requested_at = isoTime(requestedAt * 1000)
    return { id, kind, ...toWire(principal), jkt, message, attributes, ...(address && { address }), requested_at }
  })
  if (options.json) return printJson(shown)
  printList(
    'enrolments that are waiting',
    ['ID', 'SUBJECT', 'PRINCIPAL_ID', 'TYPE', 'KEY', 'MESSAGE', 'ATTRIBUTES', 'ADDRESS', 'SINCE'],
    shown.map((row) => [
      ...[row.id, row.subject, row.principal_id, row.principal_type, fingerprint(row.jkt), row.message],
      ...[Object.keys(row.attributes).length === 0 ? '' : JSON.stringify(row.attributes), row.address ?? ''],
      row.requested_at,
    ]),
  )
}

/** Implements `signet principals approve` and `deny`. */
export const decideWaiting = async (
  id: string,
  decision: 'approve' | 'deny',
  options: PrincipalsOptions,
): Promise<void> => {
  const checked = await checkDeployment(options)
  const result = await administerPlugins(checked, (administration, by, { secondFactors: factors }) =>
    decideEnrolment(administration, by, { factors, id, decision }),
  )
  if (isRefusal(result))
    throw result.refused === 'no_approvals' ? noApprovals() : new CommandFailed('No pending enrolment has this id.')
  const { kind, principal, jkt } = result
  if (options.json) {
    const state = decision === 'approve' ? 'approved' : 'denied'
    return printJson({ id, kind, ...toWire(principal), jkt, state })
  }
  const done = decision === 'approve' ? 'Approved' : 'Denied'
  print(`${done} ${nameOf(principal)}, key ${fingerprint(jkt)}`)
}

export interface DenyOptions extends PrincipalsOptions {
  readonly address?: string
  readonly all?: true
  readonly kind?: string
}

/** Implements `signet principals deny --address` and `--all`. */
export const denyWaiting = async (options: DenyOptions): Promise<void> => {
  const checked = await checkDeployment(options)
  const { kind, address } = options
  const result = await administerPlugins(checked, (administration, by, { secondFactors: factors }) =>
    denyEnrolments(administration, by, { factors, kind, address }),
  )
  if (isRefusal(result) && result.refused === 'no_approvals') throw noApprovals()
  const denied = isRefusal(result) ? 0 : result.denied
  if (denied === 0) process.exitCode = 1
  if (options.json) return printJson({ denied })
  print(`Denied ${String(denied)} ${denied === 1 ? 'enrolment' : 'enrolments'}`)
}
