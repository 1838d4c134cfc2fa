import { explainFailure } from './signer-events.js'
import type { KeyProbe } from './probe-key.js'
import type { RingKey } from './ring-key.js'

/** The outcome of a key's probe, for other processes of this host that have the same key. */
export interface KeyProof {
  readonly kid: string
  /** RFC 7638. After a reload, a process may know another key by this `kid`. */
  readonly thumbprint: string
  readonly outcome: KeyProbe['outcome']
  /** Why it did not pass, in words for the operator. */
  readonly reason?: string
}

/** The proofs that the workers of one host share: one of them probes, and the others take its word. */
export interface SharedProofs {
  /** Names the pool of workers on its host. */
  readonly pool: string
  /** Tells whether this process is the one that proves. */
  leads(): boolean
  /** Passes on what this process found out, if it leads. */
  send(proofs: readonly KeyProof[]): void
  /** Called with what another process found out. There is one listener. */
  listen(hear: (proofs: readonly KeyProof[]) => void): void
}

const outcomes: readonly unknown[] = ['passed', 'failed', 'refused', 'unavailable'] satisfies KeyProbe['outcome'][]

/** Undefined for a key that was never opened: other processes could not tell which key is meant. */
export const proofOf = ({ kid, opened }: RingKey, { outcome, cause }: KeyProbe): KeyProof | undefined =>
  opened && {
    ...{ kid, thumbprint: opened.thumbprint, outcome },
    ...(cause !== undefined && { reason: explainFailure(cause) }),
  }

/** Tells whether a message between processes has proofs. */
export const isProofs = (message: unknown): message is { readonly proofs: readonly KeyProof[] } => {
  if (typeof message !== 'object' || message === null || !('proofs' in message)) return false
  const { proofs } = message
  return Array.isArray(proofs) && proofs.every((proof: Partial<KeyProof>) => outcomes.includes(proof.outcome))
}
