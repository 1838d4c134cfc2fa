import { isoTime } from '../clock.js'
import type { SecondFactorVerifier } from '../attestation/ports.js'
import { addressBucket } from '../address-bucket.js'
import { checkDeployment, recordChange, withPlugins } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { printList } from './table.js'
import { fingerprint, nameOf, toAudit, toWire } from './principal-names.js'
import type { PrincipalsOptions } from './principals.js'

/** `signet principals waiting`. */
export const printWaiting = async (options: PrincipalsOptions): Promise<void> => {
  const checked = await checkDeployment(options)
  const rows = await withPlugins(checked, ({ secondFactors }) => listWaiting(secondFactors))
  const undecided = rows.filter(({ approved }) => approved !== true)
  const shown = undecided.map(({ id, kind, principal, jkt, message, attributes, address, requestedAt }) => {
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

/** `signet principals approve` and `deny`. */
export const decideWaiting = async (
  id: string,
  decision: 'approve' | 'deny',
  options: PrincipalsOptions,
): Promise<void> => {
  const checked = await checkDeployment(options)
  await withPlugins(checked, async ({ secondFactors }) => {
    const found = (await listWaiting(secondFactors)).find((one) => one.id === id)
    const nothing = new CommandFailed('No pending enrolment has this id.')
    if (found === undefined) throw nothing
    const { kind, principal, jkt } = found
    const change = { action: `principal.${decision}`, kind, jkt, ...toAudit(principal) }
    const decide = async (): Promise<boolean> => (await found.factor.decide?.(id, decision)) === true
    if (!(await recordChange(checked.config, change, decide))) throw nothing
    if (options.json) {
      const state = decision === 'approve' ? 'approved' : 'denied'
      return printJson({ id, kind, ...toWire(principal), jkt, state })
    }
    const done = decision === 'approve' ? 'Approved' : 'Denied'
    print(`${done} ${nameOf(principal)}, key ${fingerprint(jkt)}`)
  })
}

export interface DenyOptions extends PrincipalsOptions {
  readonly address?: string
  readonly all?: true
  readonly kind?: string
}

/** So many are denied at a time: each is some writes. */
const atATime = 20

/** `signet principals deny --address` and `--all`: what nobody has decided about; an approval is taken back by its id alone. */
export const denyWaiting = async (options: DenyOptions): Promise<void> => {
  const checked = await checkDeployment(options)
  const { kind } = options
  const address = options.address && (addressBucket(options.address) ?? options.address)
  const change = {
    action: 'principal.deny',
    ...(kind !== undefined && { kind }),
    ...(address === undefined ? { which: 'all' } : { address }),
  }
  const denied = await withPlugins(checked, async ({ secondFactors }) => {
    const chosen = (await listWaiting(secondFactors)).filter(
      (one) =>
        one.approved !== true &&
        (address === undefined || one.address === address) &&
        (kind === undefined || one.kind === kind),
    )
    let count = 0
    await recordChange(checked.config, change, async () => {
      for (let start = 0; start < chosen.length; start += atATime) {
        const some = chosen.slice(start, start + atATime)
        const outcomes = await Promise.all(some.map(async ({ id, factor }) => factor.decide?.(id, 'deny')))
        count += outcomes.filter((outcome) => outcome === true).length
      }
      return count > 0
    })
    return count
  })
  if (denied === 0) process.exitCode = 1
  if (options.json) return printJson({ denied })
  print(`Denied ${String(denied)} ${denied === 1 ? 'enrolment' : 'enrolments'}`)
}

const listWaiting = async (factors: ReadonlyMap<string, SecondFactorVerifier>) => {
  const asking = [...factors.values()].filter((factor) => factor.waiting !== undefined)
  if (asking.length === 0)
    throw new CommandFailed(
      'The configuration has no second factor that a person approves: add plugins/attestation/approval.',
    )
  const lists = await Promise.all(
    asking.map(async (factor) => {
      const waiting = (await factor.waiting?.()) ?? []
      return waiting.map((one) => ({ ...one, kind: factor.kind, factor }))
    }),
  )
  return lists.flat().toSorted((left, right) => left.requestedAt - right.requestedAt)
}
