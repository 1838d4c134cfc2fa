import type { JwsAlg } from '../core/jose/jwk.js'
import type { Contestant } from './contestant.js'

/** Sends requests and returns one member of each JSON answer, in order, to prepare a measurement. */
export type Collect = (requests: readonly string[], member: string) => Promise<readonly string[]>

/** A sequence of requests that counts as one. A later one contains what `ofAnswer` names from earlier answers. */
export type Journey = readonly string[]

export interface Requests {
  readonly requests: readonly (string | Journey)[]
  /** False if each works only once. */
  readonly repeat: boolean
}

export interface Case {
  readonly name: string
  readonly alg: JwsAlg
  /** The key is in SoftHSM, whose child process runs on the other core. If absent, the key is in a file. */
  readonly keysIn?: 'softhsm'
  /** Set when the peer lacks the feature, so that only Signet is measured. */
  readonly alone?: true
  /** Both servers use MongoDB and Redis. */
  readonly stores?: true
  /** The registry of principals keeps their enrolment and status. */
  readonly registry?: true
  /** Signet runs behind a proxy that has verified the client certificates. */
  readonly certificates?: true
  /**
   * The minimal P-256 work of one request, compared with a loop that does nothing else; the service should reach a
   * share of it.
   */
  readonly bare?: { readonly verifications: number; readonly signatures: number; readonly target: number }
  /** The ratio to the peer's requests a second that this should reach. */
  readonly target: number | undefined
  /** `count` is how many one-time requests the round may use up. */
  prepare(server: Contestant, count: number, collect: Collect): Promise<Requests>
}
