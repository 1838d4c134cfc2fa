import type { SecondFactorVerifier } from '../attestation/ports.js'
import { withRegistries } from '../host/with-registries.js'
import { noLog } from '../observe/log.js'
import { checkDeployment, recordChange } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson, printTable } from './output.js'
import { fingerprint, toAudit, toWire, type PrincipalsOptions } from './principals.js'

/** `signet principals waiting`. */
export const printWaiting = async (options: PrincipalsOptions): Promise<void> => {
  const checked = await checkDeployment(options)
  const rows = await withRegistries(checked, { clock: Date.now, log: noLog }, ({ secondFactors }) =>
    listWaiting(secondFactors),
  )
  const undecided = rows.filter(({ approved }) => approved !== true)
  const shown = undecided.map(({ id, kind, principal, jkt, message, attributes, requestedAt }) => {
    const requested_at = new Date(requestedAt * 1000).toISOString()
    return { id, kind, ...toWire(principal), jkt, message, attributes, requested_at }
  })
  if (options.json) return printJson(shown)
  printTable(
    ['ID', 'SUBJECT', 'PRINCIPAL_ID', 'TYPE', 'KEY', 'MESSAGE', 'ATTRIBUTES', 'SINCE'],
    shown.map((row) => [
      ...[row.id, row.subject, row.principal_id, row.principal_type, fingerprint(row.jkt), row.message],
      ...[Object.keys(row.attributes).length === 0 ? '' : JSON.stringify(row.attributes), row.requested_at],
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
  await withRegistries(checked, { clock: Date.now, log: noLog }, async ({ secondFactors }) => {
    const found = (await listWaiting(secondFactors)).find((one) => one.id === id)
    const nothing = new CommandFailed('Nothing of this id waits.')
    if (found === undefined) throw nothing
    const { kind, principal, jkt } = found
    const told = { action: `principal.${decision}`, kind, jkt, ...toAudit(principal) }
    if (!(await recordChange(checked.config, told, async () => found.factor.decide?.(id, decision) ?? false)))
      throw nothing
    if (options.json) {
      const state = decision === 'approve' ? 'approved' : 'denied'
      return printJson({ id, kind, ...toWire(principal), jkt, state })
    }
    const done = decision === 'approve' ? 'Approved' : 'Denied'
    print(`${done} ${principal.principalId}, key ${fingerprint(jkt)}`)
  })
}

const listWaiting = async (factors: ReadonlyMap<string, SecondFactorVerifier>) => {
  const asking = [...factors.values()].filter((factor) => factor.waiting !== undefined)
  if (asking.length === 0)
    throw new CommandFailed(
      'No second factor of the configuration waits for a person: add plugins/attestation/approval.',
    )
  const lists = await Promise.all(
    asking.map(async (factor) => {
      const waiting = (await factor.waiting?.()) ?? []
      return waiting.map((one) => ({ ...one, kind: factor.kind, factor }))
    }),
  )
  return lists.flat().toSorted((left, right) => left.requestedAt - right.requestedAt)
}
