import { performance } from 'node:perf_hooks'
import { Unavailable } from '../unavailable.js'
import { withDeadline } from '../deadline.js'
import { KeyRefused } from './ports.js'
import { newProbe } from './probe.js'
import type { RingKey } from './ring-key.js'
import { verifySignature } from '../jose/verify-signature.js'

/**
 * `failed`: the published key does not verify the signature. `refused`: the backend will not sign until an operator
 * acts. `unavailable`: there was no signature.
 */
export interface KeyProbe {
  readonly kid: string
  readonly signer: string
  readonly outcome: 'passed' | 'failed' | 'refused' | 'unavailable'
  /** Milliseconds the signer took. Present when there was a signature. */
  readonly latency?: number
  readonly cause?: unknown
}

/** Has the key sign a probe within `milliseconds`, and verifies it with the published key. Never throws. */
export const probeKey = async (key: RingKey, milliseconds: number, signal: AbortSignal): Promise<KeyProbe> => {
  const { kid, signer, opened, calls } = key
  if (opened === undefined) return { kid, signer, outcome: key.trust === 'refused' ? 'refused' : 'unavailable' }
  const probe = newProbe()
  const startedAt = performance.now()
  try {
    const signature = await withDeadline(
      milliseconds,
      (attempt) => opened.signing.signer.sign(probe, attempt),
      () => new Unavailable(`signers.${signer}`, 'no', `no signature in ${milliseconds} ms`),
      signal,
    )
    const latency = performance.now() - startedAt
    calls.took(latency)
    const valid = await verifySignature(opened.published, probe, signature)
    return { kid, signer, outcome: valid ? 'passed' : 'failed', latency }
  } catch (cause) {
    return { kid, signer, outcome: cause instanceof KeyRefused ? 'refused' : 'unavailable', cause }
  }
}
