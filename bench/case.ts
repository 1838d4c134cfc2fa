import type { JwsAlg } from '../core/jose/jwk.js'
import type { Contestant } from './contestant.js'

/** Sends requests and brings back one member of each JSON answer, in order: for what must be there before a measurement. */
export type Collect = (requests: readonly string[], member: string) => Promise<readonly string[]>

/** Requests one after another, as one: a later one has what `ofAnswer` names from the answers before. */
export type Journey = readonly string[]

export interface Requests {
  readonly requests: readonly (string | Journey)[]
  /** False: each works once. */
  readonly repeat: boolean
}

export interface Case {
  readonly name: string
  readonly alg: JwsAlg
  /** Where Signet's key is: a file, or SoftHSM; then its child process has the other core. */
  readonly keysIn?: 'softhsm'
  /** What the peer has not: Signet alone is measured. */
  readonly alone?: true
  /** Both servers on MongoDB and Redis. */
  readonly stores?: true
  /** With the registry of principals, which answers for their status and learns of their enrolment. */
  readonly registry?: true
  /** Behind a proxy that has verified the certificates of clients. */
  readonly certificates?: true
  /** What one request cannot do without, on P-256: held against a loop that does nothing else, of which it is to reach a share. */
  readonly bare?: { readonly verifications: number; readonly signatures: number; readonly target: number }
  /** The share of the peer's figure that this is to reach, in requests a second. */
  readonly target: number | undefined
  /** `count` is how many one-time requests the round may use up. */
  prepare(server: Contestant, count: number, collect: Collect): Promise<Requests>
}
