import { addressBucket } from '../address-bucket.js'
import type { IssuedFactor, Principal, SecondFactorVerifier, WaitingEnrolment } from '../attestation/ports.js'
import { change, isRefusal, type Administration, type Operator, type Refusal } from './administration.js'
import { principalAuditContext } from './principals.js'

/** The second factors that the plugins contribute, by their kind. */
export type SecondFactors = ReadonlyMap<string, SecondFactorVerifier>

/** An enrolment that a person has to decide about. */
export interface ListedEnrolment extends WaitingEnrolment {
  readonly kind: string
}

interface Waiting extends ListedEnrolment {
  readonly factor: SecondFactorVerifier
}

/** `no_approvals`: no plugin provides a second factor that a person approves. */
type NoApprovals = Refusal<'no_approvals'>

const findWaiting = async (factors: SecondFactors): Promise<readonly Waiting[] | NoApprovals> => {
  const asking = [...factors.values()].filter((factor) => factor.waiting !== undefined)
  if (asking.length === 0) return { refused: 'no_approvals' }
  const lists = await Promise.all(
    asking.map(async (factor) => {
      const waiting = (await factor.waiting?.()) ?? []
      return waiting.map((one) => ({ ...one, kind: factor.kind, factor }))
    }),
  )
  return lists.flat().toSorted((left, right) => left.requestedAt - right.requestedAt)
}

/** Lists undecided enrolments, oldest first. Throws `Unavailable`. */
export const listWaitingEnrolments = async (
  factors: SecondFactors,
): Promise<readonly ListedEnrolment[] | NoApprovals> => {
  const found = await findWaiting(factors)
  if (isRefusal(found)) return found
  return found.filter(({ approved }) => approved !== true).map(({ factor: _factor, ...enrolment }) => enrolment)
}

/** Approves or denies one enrolment. An approval that has not been used can still be denied. Throws `Unavailable`. */
export const decideEnrolment = async (
  administration: Administration,
  by: Operator,
  {
    factors,
    id,
    decision,
  }: { readonly factors: SecondFactors; readonly id: string; readonly decision: 'approve' | 'deny' },
): Promise<ListedEnrolment | NoApprovals | Refusal<'unknown'>> => {
  const found = await findWaiting(factors)
  if (isRefusal(found)) return found
  const one = found.find((waiting) => waiting.id === id)
  if (one === undefined) return { refused: 'unknown' }
  const { factor, ...enrolment } = one
  const { kind, jkt, principal } = enrolment
  const what = { action: `principal.${decision}`, kind, jkt, ...principalAuditContext(principal) }
  return change(administration, by, what, async () =>
    (await factor.decide?.(id, decision)) === true ? enrolment : { refused: 'unknown' },
  )
}

/** This many are denied at a time, because each takes several writes. */
const concurrency = 20

/**
 * Denies all undecided enrolments, or those of one address or kind. An approval can be withdrawn only by its id.
 * Returns how many were denied. Throws `Unavailable`.
 */
export const denyEnrolments = async (
  administration: Administration,
  by: Operator,
  {
    factors,
    kind,
    ...filter
  }: { readonly factors: SecondFactors; readonly kind?: string | undefined; readonly address?: string | undefined },
): Promise<{ readonly denied: number } | NoApprovals | Refusal<'none'>> => {
  const address = filter.address && (addressBucket(filter.address) ?? filter.address)
  const found = await findWaiting(factors)
  if (isRefusal(found)) return found
  const chosen = found.filter(
    (one) =>
      one.approved !== true &&
      (address === undefined || one.address === address) &&
      (kind === undefined || one.kind === kind),
  )
  const what = {
    action: 'principal.deny',
    ...(kind !== undefined && { kind }),
    ...(address === undefined ? { which: 'all' } : { address }),
  }
  return change(administration, by, what, async () => {
    let denied = 0
    for (let start = 0; start < chosen.length; start += concurrency) {
      const some = chosen.slice(start, start + concurrency)
      const outcomes = await Promise.all(some.map(async ({ id, factor }) => factor.decide?.(id, 'deny')))
      denied += outcomes.filter((outcome) => outcome === true).length
    }
    return denied > 0 ? { denied } : { refused: 'none' }
  })
}

/** The factor of a kind, and the principal that it is for. */
export interface FactorOfPrincipal {
  readonly factors: SecondFactors
  readonly kind: string
  readonly principal: Principal
}

/** `no_kind`: no plugin provides this kind. `unable`: the factor of this kind cannot do that. */
type NoFactor = Refusal<'no_kind' | 'unable'>

const describeChange = (action: string, { kind, principal }: FactorOfPrincipal) => ({
  action,
  kind,
  ...principalAuditContext(principal),
})

/** Issues the credential that a principal enrols with. It is shown only once. Throws `Unavailable`. */
export const issueFactor = async (
  administration: Administration,
  by: Operator,
  input: FactorOfPrincipal,
): Promise<IssuedFactor | NoFactor> => {
  const factor = input.factors.get(input.kind)
  if (factor === undefined) return { refused: 'no_kind' }
  return change(administration, by, describeChange('principal.issue', input), async () =>
    factor.issue === undefined ? { refused: 'unable' } : factor.issue(input.principal),
  )
}

/** Deletes an unused credential that was issued to a principal. Throws `Unavailable`. */
export const withdrawFactor = async (
  administration: Administration,
  by: Operator,
  input: FactorOfPrincipal,
): Promise<NoFactor | Refusal<'nothing'> | undefined> => {
  const factor = input.factors.get(input.kind)
  if (factor === undefined) return { refused: 'no_kind' }
  return change(administration, by, describeChange('principal.withdraw', input), async () => {
    if (factor.withdraw === undefined) return { refused: 'unable' }
    return (await factor.withdraw(input.principal)) === true ? undefined : { refused: 'nothing' }
  })
}
