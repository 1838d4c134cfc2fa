import type { JsonObject } from '../json.js'
import { askHook, checkGivenAttributes } from './ask-hook.js'
import { Unavailable } from '../unavailable.js'
import { attestationError } from './errors.js'
import type { AttestationStatusProvider, StatusQuestion } from './ports.js'
import type { TokenStatus } from './status-list/token-status.js'

/** The component name of the status provider for an outage. */
export const statusComponent = 'attestation.status'

export interface PrincipalStatus {
  /**
   * The current attributes, or undefined without a status provider. Throws `PrincipalRevoked`, and `Unavailable` for
   * a fault: an outage is neither a revocation nor a permission.
   */
  check(question: StatusQuestion, signal: AbortSignal): Promise<JsonObject | undefined>
  /** Reports a full enrolment. Throws `Unavailable`. */
  enrolled(question: StatusQuestion, attributes: JsonObject, signal: AbortSignal): Promise<void>
  /** Reports a renewal, if the provider wants to know. */
  renewed(question: StatusQuestion, signal: AbortSignal): Promise<void>
}

/** `tokenStatus` covers issued attestations: those of a principal that is refused a renewal are revoked. */
export const createPrincipalStatus = (
  provider: AttestationStatusProvider | undefined,
  tokenStatus?: Pick<TokenStatus, 'revoke'>,
): PrincipalStatus => ({
  async check(question, outer) {
    if (provider === undefined) return undefined
    const outcome: { reason?: string } = {}
    const refuse = (reason: unknown): undefined => void (outcome.reason = String(reason))
    const current = await askHook(statusComponent, outer, (signal) => provider.current(question, signal, refuse))
    if (current === undefined) {
      // Revokes for this key only, because another key of the principal may be good.
      if (question.step === 'renewal') await tokenStatus?.revoke(question.principal, (jkt) => jkt === question.jkt)
      throw attestationError('PrincipalRevoked', outcome)
    }
    return checkGivenAttributes(statusComponent, current)
  },
  async enrolled(question, attributes, outer) {
    if (provider?.enrolled === undefined) return
    await askHook(statusComponent, outer, async (signal) => provider.enrolled?.(question, attributes, signal))
  },
  async renewed(question, outer) {
    if (provider?.renewed === undefined) return
    try {
      await askHook(statusComponent, outer, async (signal) => provider.renewed?.(question, signal))
    } catch (error) {
      // A failed record of a renewal must not prevent the renewal.
      if (!(error instanceof Unavailable)) throw error
    }
  },
})
