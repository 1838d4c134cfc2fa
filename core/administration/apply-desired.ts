import type { JsonObject } from '../json.js'
import type { OperatorIdentity } from '../operators/operator.js'
import type { Operator, Refusal } from './administration.js'
import { addClient, updateClient } from './client-metadata.js'
import { removeClient } from './clients.js'
import type { DesiredParts, PlannedStep } from './desired.js'
import { addOperator, removeOperator, updateOperator } from './operator-people.js'

/** The operator who applies files. */
export interface Applying {
  readonly by: Operator
  readonly issuer: OperatorIdentity
}

/** A step that was taken. A secret that was generated exists nowhere else. */
export interface AppliedStep extends PlannedStep {
  readonly client_secret?: string
}

export interface Applied {
  readonly done: readonly AppliedStep[]
  /** The step that was refused. Those after it were not tried. */
  readonly stopped?: { readonly step: PlannedStep; readonly refused: string; readonly reason?: string }
}

type Outcome = { readonly client_secret?: string } | Refusal

/** The change of a client as a merge patch (RFC 7396): null removes a member. */
const patchOf = ({ before, after }: PlannedStep): JsonObject => ({
  ...Object.fromEntries(Object.keys(before).map((name) => [name, null])),
  ...after,
})

const applyClient = async (parts: DesiredParts, { by }: Applying, step: PlannedStep): Promise<Outcome> => {
  const { action, id: client_id, after, etag: ifMatch } = step
  const { checked } = parts
  if (action === 'create') return addClient(parts, by, { checked, metadata: { ...after, client_id } })
  if (action === 'remove') return unlessMade(await removeClient(parts, by, { client_id, ifMatch }))
  return updateClient(parts, by, { checked, metadata: patchOf(step), client_id, ifMatch })
}

const applyOperator = async (parts: DesiredParts, { by, issuer }: Applying, step: PlannedStep): Promise<Outcome> => {
  const { action, id: name, after, etag: ifMatch } = step
  const { roles, disabled } = after as { readonly roles?: readonly string[]; readonly disabled?: boolean }
  if (action === 'remove') return unlessMade(await removeOperator(parts, by, { name, issuer, ifMatch }))
  if (action === 'create')
    return unlessMade(await addOperator(parts, by, { name, issuer, roles: roles ?? [], disabled: disabled === true }))
  return unlessMade(await updateOperator(parts, by, { name, issuer, roles, disabled, ifMatch }))
}

const unlessMade = (result: object): Outcome => ('refused' in result ? (result as Refusal) : {})

/**
 * Takes the steps of a plan, one after the other, each on condition that its object is still as it was compared. It
 * stops at the first that is refused. Throws `Unavailable`; the steps before are in the audit log then.
 */
export const applyDesired = async (
  parts: DesiredParts,
  applying: Applying,
  steps: readonly PlannedStep[],
): Promise<Applied> => {
  const done: AppliedStep[] = []
  for (const step of steps) {
    if (step.action === 'unmanaged') continue
    const outcome = await (step.kind === 'client' ? applyClient : applyOperator)(parts, applying, step)
    if ('refused' in outcome) {
      const { refused, reason } = outcome
      return { done, stopped: { step, refused, ...(reason !== undefined && { reason }) } }
    }
    const { client_secret } = outcome
    done.push({ ...step, ...(client_secret !== undefined && { client_secret }) })
  }
  return { done }
}
