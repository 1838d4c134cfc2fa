import { performance } from 'node:perf_hooks'
import { Unavailable } from '../unavailable.js'
import type { BatchVerifier } from './batch-verifier.js'
import type { CallOutcome } from './call-record.js'
import { Circuit, type CircuitState } from './circuit.js'
import { withDeadline } from '../deadline.js'
import { FairQueue, type QueueEntry } from '../fair-queue.js'
import { KeyRefused, type SigningRequest, type SignaturePriority, type SignatureTrace } from './ports.js'
import type { OpenedKey, RingKey } from './ring-key.js'

export interface SupervisionLimits {
  /** Signatures that one backend may be making at once, unless its provider gives a number. */
  readonly concurrency: number
  /** Signing requests that may wait for one backend. */
  readonly maxWaiting: number
  /** Longest wait of a signing request, in milliseconds. */
  readonly maxWaitMs: number
  /** Milliseconds that a backend has for one signature. */
  readonly attemptMs: number
  /** Consecutive failures that open the circuit. One that took the whole `attemptMs` counts twice. */
  readonly failures: number
  /** Milliseconds until the first probe after the circuit opens. Each later wait is twice as long. */
  readonly probeMs: number
  readonly maxProbeMs: number
}

/** A signer has 2 s of a request budget of 3 s (docs/design/faults.md#rule-2). */
export const supervisionLimits: SupervisionLimits = {
  concurrency: 256,
  maxWaiting: 1024,
  maxWaitMs: 1000,
  attemptMs: 2000,
  failures: 10,
  probeMs: 250,
  maxProbeMs: 5000,
}

/** The published key does not verify the signature, so it is discarded. */
export class BadSignature extends Error {
  override readonly name = 'BadSignature'
}

const priorities: readonly SignaturePriority[] = ['sign_in', 'refresh', 'machine', 'renewal']

interface Waiting extends QueueEntry<SignaturePriority> {
  readonly admit: () => void
  readonly refuse: (reason: Error) => void
}

/**
 * Stands between signing requests and one backend outside the process. It makes one call per request; the signer
 * retries by itself.
 */
export class SignerSupervisor {
  readonly name: string
  readonly circuit: Circuit
  readonly #limits: SupervisionLimits
  readonly #verifier: BatchVerifier
  readonly #queue: FairQueue<SignaturePriority, Waiting>
  #running = 0

  constructor(
    name: string,
    limits: SupervisionLimits,
    verifier: BatchVerifier,
    changed: (state: CircuitState) => void,
  ) {
    this.name = name
    this.#limits = limits
    this.#verifier = verifier
    this.#queue = new FairQueue(limits.maxWaiting, priorities)
    this.circuit = new Circuit(limits.failures, (state) => {
      if (state === 'open') this.#sendAway()
      changed(state)
    })
  }

  get waiting(): number {
    return this.#queue.size
  }

  get running(): number {
    return this.#running
  }

  /**
   * Returns a signature that the published key verifies. Throws `BadSignature`, `KeyRefused`, `Unavailable`, any
   * other error of the signer, or the reason of the request's signal.
   */
  async sign(
    key: RingKey & { readonly opened: OpenedKey },
    message: Uint8Array,
    order: SigningRequest,
    trace: SignatureTrace,
  ): Promise<Uint8Array> {
    const { outcomes } = key.calls
    try {
      if (this.#isFull() || this.#queue.size > 0) await this.#wait(order)
      else this.#running++
    } catch (error) {
      outcomes[order.signal.aborted ? 'aborted' : 'overflow']++
      throw error
    }
    let signature: Uint8Array
    try {
      signature = await this.#attempt(key, message, order.signal, trace)
    } finally {
      this.#running--
      this.#admit()
    }
    const valid = await this.#verifier.verify(key.opened.published, message, signature)
    outcomes[valid ? 'signed' : 'bad_signature']++
    if (!valid) throw new BadSignature(`a signature of ${key.kid} does not verify with its published key`)
    return signature
  }

  async #attempt(
    { calls, opened }: RingKey & { readonly opened: OpenedKey },
    message: Uint8Array,
    outer: AbortSignal,
    trace: SignatureTrace,
  ): Promise<Uint8Array> {
    const { attemptMs } = this.#limits
    let late: Unavailable | undefined
    const startedAt = performance.now()
    try {
      const signature = await withDeadline(
        attemptMs,
        (signal) => opened.signing.signer.sign(message, signal, trace),
        () => (late = this.#unavailable(`no signature in ${attemptMs} ms`)),
        outer,
      )
      calls.took(performance.now() - startedAt)
      this.circuit.answered()
      return signature
    } catch (error) {
      const outcome = outcomeOf(error, late, outer)
      calls.outcomes[outcome]++
      if (outcome === 'refused') this.circuit.answered()
      else if (outcome !== 'aborted') this.circuit.failed(outcome === 'timeout' ? 2 : 1)
      throw error
    }
  }

  #wait({ priority, clientId, signal }: SigningRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', abandon)
      }
      const waiting: Waiting = {
        priority,
        owner: clientId,
        admit: () => {
          end()
          resolve()
        },
        refuse: (reason) => {
          end()
          reject(reason)
        },
      }
      const leave = (reason: Error): void => {
        this.#queue.remove(waiting)
        waiting.refuse(reason)
      }
      const abandon = (): void => leave(signal.reason as Error)
      const timer = setTimeout(
        () => leave(this.#unavailable('too many signatures are waiting')),
        this.#limits.maxWaitMs,
      )
      signal.addEventListener('abort', abandon)
      if (signal.aborted) return waiting.refuse(signal.reason as Error)
      this.#queue.push(waiting)?.refuse(this.#unavailable('too many signatures are waiting'))
      this.#admit()
    })
  }

  #isFull(): boolean {
    return this.#running >= Math.max(1, this.#limits.concurrency)
  }

  /** Gives free slots to waiting requests. The number of slots may have changed. */
  #admit(): void {
    while (!this.#isFull()) {
      const next = this.#queue.shift()
      if (next === undefined) return
      this.#running++
      next.admit()
    }
  }

  #sendAway(): void {
    const reason = this.outage()
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) next.refuse(reason)
  }

  /** The error while the circuit is open. */
  outage(): Unavailable {
    return this.#unavailable('the signer is not responding; waiting for a successful probe')
  }

  #unavailable(message: string): Unavailable {
    return new Unavailable(`signers.${this.name}`, 'no', message)
  }
}

const outcomeOf = (error: unknown, late: Unavailable | undefined, outer: AbortSignal): CallOutcome => {
  if (error === late) return 'timeout'
  if (outer.aborted) return 'aborted'
  return error instanceof KeyRefused ? 'refused' : 'unavailable'
}
