import { performance } from 'node:perf_hooks'
import type { CallOutcome, Latency } from './call-record.js'
import type { CircuitState } from './circuit.js'
import type { RingView } from './key-states.js'
import type { JwsAlg } from '../jose/jwk.js'
import type { KeyPurpose, KeyState, SignerProvider } from './ports.js'
import type { KeyStatus, Lifetime } from './ring-key.js'
import type { SignerSupervisor } from './signer-supervisor.js'

/** One configured key. Times are milliseconds since the epoch, and infinite if the configuration sets none. */
export interface KeyReport extends Lifetime {
  readonly kid: string
  readonly alg: JwsAlg
  readonly signer: string
  readonly purposes: readonly KeyPurpose[]
  readonly state: KeyState
  readonly trust: KeyStatus
  readonly published: boolean
  /** Why it is not trusted, or the error of its last probe. */
  readonly reason: string | undefined
  /** Why its signer signs nothing until an operator acts. */
  readonly signerRefusal: string | undefined
  /** Milliseconds since its last probe; infinite before the first. */
  readonly probeAge: number
  /** Seconds between two of its probes while it is well; undefined: the usual ones. */
  readonly probeSeconds: number | undefined
  /** Milliseconds of the last 512 signatures and probes. */
  readonly latency: Latency | undefined
  readonly calls: Readonly<Record<CallOutcome, number>>
  readonly quarantines: number
}

/** One signer outside the process. */
export interface SignerReport {
  readonly name: string
  readonly circuit: CircuitState
  /** Signing requests that wait, and those that the backend is working on. */
  readonly waiting: number
  readonly running: number
}

export interface RingReport {
  readonly keys: readonly KeyReport[]
  readonly signers: readonly SignerReport[]
}

export const reportRing = (
  view: RingView,
  supervisors: ReadonlyMap<string, SignerSupervisor>,
  providers: ReadonlyMap<string, Pick<SignerProvider, 'refusal' | 'probeSeconds'>>,
): RingReport => ({
  keys: [...view.states].map(([key, state]) => {
    const { kid, alg, signer, purposes, notBefore, notAfter, goneAt, trust, calls, quarantines, probedAt } = key
    const times = { notBefore, notAfter, goneAt }
    const probeAge = probedAt === undefined ? Infinity : performance.now() - probedAt
    const published = view.published.has(kid)
    const reason = key.reason ?? (key.isWithheld ? 'the key log does not have it yet' : undefined)
    const how = {
      trust,
      published,
      reason,
      signerRefusal: providers.get(signer)?.refusal,
      probeAge,
      probeSeconds: providers.get(signer)?.probeSeconds,
      latency: calls.latency(),
      calls: { ...calls.outcomes },
      quarantines,
    }
    return { kid, alg, signer, purposes, ...times, state, ...how }
  }),
  signers: [...supervisors.values()].map(({ name, circuit, waiting, running }) => ({
    name,
    circuit: circuit.state,
    waiting,
    running,
  })),
})
