import type { SecondFactors } from '../administration/enrolments.js'
import type { Reload } from '../endpoints/admin/reload.js'
import type { RingReport } from '../keys/ring-report.js'
import type { KeyProbe } from '../keys/probe-key.js'
import type { SharedFigures } from '../collections/shared-figures.js'
import type { ReadinessReport } from '../observe/health.js'

/** Information and actions that need a running service. With workers, one of them answers. */
export interface RunningService {
  /** The current state of keys and signers. */
  readonly keys: () => RingReport
  /** Signs a probe with every key of a signer, and verifies it with the published key. Never throws. */
  readonly prove: (signal: AbortSignal, signer: string) => Promise<readonly KeyProbe[]>
  readonly readiness: () => ReadinessReport
  readonly reload: Reload
  /** The problems of the last reload, if it was refused. */
  readonly refusedReload: () => readonly { readonly path: string; readonly message: string }[]
  /** The figures of all processes. Throws `Unavailable`. */
  readonly figures: () => Promise<SharedFigures>
  /** Publishes the figures of this process now, as happens every ten seconds anyway. Never throws. */
  readonly publishFigures: () => Promise<void>
  /** The bytes of the stores that short-lived entries of each class use, and the limit. */
  readonly shares: () => Readonly<Record<string, { readonly bytes: number; readonly limit: number }>>
  /** The second factors of attestation that the plugins contribute. */
  readonly secondFactors: SecondFactors
}
