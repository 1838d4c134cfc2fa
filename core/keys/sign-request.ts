import { performance } from 'node:perf_hooks'
import { Unavailable } from '../unavailable.js'
import { signingName, type RingView } from './key-states.js'
import { KeyRefused, type KeyRing, type SigningRequest, type SignatureTrace } from './ports.js'
import type { KeyStatus, OpenedKey, RingKey } from './ring-key.js'
import { BadSignature, type SignerSupervisor } from './signer-supervisor.js'

export interface SignDependencies {
  readonly view: () => RingView
  /** By signer. A signer without a supervisor holds its keys in this process and is called directly. */
  readonly supervisors: ReadonlyMap<string, SignerSupervisor>
  /** Records that a key may not sign until it passes a probe. */
  readonly distrust: (key: RingKey, trust: KeyStatus, reason: string) => void
  /** Whether what is known of a key is recent enough for it to sign. Absent: always. */
  readonly isCurrent: ((key: RingKey) => boolean) | undefined
  readonly failedOver: (order: SigningRequest, from: RingKey, to: RingKey, cause: unknown) => void
}

type Opened = RingKey & { readonly opened: OpenedKey }

/** See `KeyRing.sign`: uses the first listed active key that is able to sign, and the next one when it fails. */
export const createSign = (dependencies: SignDependencies): KeyRing['sign'] => {
  const { view, supervisors, distrust, failedOver, isCurrent } = dependencies

  /** The key does not sign until it passes a probe. Other errors may pass by themselves. */
  const learn = (key: RingKey, error: unknown): void => {
    if (error instanceof BadSignature) distrust(key, 'quarantined', error.message)
    else if (error instanceof KeyRefused) distrust(key, 'refused', error.message)
  }

  return async (order) => {
    const { purpose, alg, signal } = order
    const candidates = view().signing.get(signingName(purpose, alg))
    if (candidates === undefined) throw new Unavailable('keys', 'no', `No active key signs ${purpose} with ${alg}.`)
    let failed: { readonly key: RingKey; readonly cause: unknown } | undefined
    let skipped: Unavailable | undefined
    for (const key of candidates as readonly Opened[]) {
      const { kid, signer: name, calls, opened } = key
      if (isCurrent !== undefined && !isCurrent(key)) {
        skipped ??= new Unavailable('keys', 'no', 'the store did not say for an hour which keys of slots sign')
        continue
      }
      const supervisor = supervisors.get(name)
      if (supervisor !== undefined && supervisor.circuit.state !== 'closed') {
        calls.outcomes.circuit_open++
        skipped ??= supervisor.outage()
        continue
      }
      const input = order.input(opened.signing)
      const message = Buffer.from(input, 'ascii')
      const { max } = opened.signing.signer.messageBytes ?? { max: Infinity }
      if (message.byteLength > max) {
        // The request is at fault, not the key, so the key stays in service.
        failed ??= { key, cause: new Unavailable(`signers.${name}`, 'no', 'the token is too long for this key') }
        continue
      }
      const trace: SignatureTrace = {}
      const startedAt = performance.now()
      try {
        let signature: Uint8Array
        if (supervisor === undefined) {
          signature = await opened.signing.signer.sign(message, signal, trace)
          calls.took(performance.now() - startedAt)
          calls.outcomes.signed++
        } else signature = await supervisor.sign(key, message, order, trace)
        if (failed !== undefined) failedOver(order, failed.key, key, failed.cause)
        return { kid, alg, signer: name, publishedKey: opened.published, input, signature, ...trace }
      } catch (cause) {
        learn(key, cause)
        if (supervisor === undefined) calls.outcomes[cause instanceof KeyRefused ? 'refused' : 'unavailable']++
        if (signal.aborted) throw signal.reason
        failed ??= { key, cause }
      }
    }
    if (failed === undefined) throw skipped as Unavailable
    const { key, cause } = failed
    if (cause instanceof Unavailable) throw cause
    // The request was sound, so any failure of the backend counts as an outage.
    throw new Unavailable(`signers.${key.signer}`, 'no', 'the signer failed', { cause })
  }
}
