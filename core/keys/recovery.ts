import { setTimeout as pause } from 'node:timers/promises'
import type { SupervisionLimits } from './signer-supervisor.js'

export interface RecoveryOptions {
  readonly limits: Pick<SupervisionLimits, 'probeMs' | 'maxProbeMs'>
  /** `soon`: the backend does not answer, or a key waits to be opened. `later`: a key failed its last probe. */
  readonly need: (signer: string) => 'soon' | 'later' | undefined
  /** Opens and probes the signer's keys. Never throws. */
  readonly probe: (signal: AbortSignal, signer: string) => Promise<unknown>
}

/** A key that lost trust or was refused for good is probed at a quarter of the pace. */
const delayFactors = { soon: 1, later: 4 } as const

/**
 * Probes signers in the background at growing intervals until they are healthy, so that no restart and no operator is
 * needed.
 */
export class Recovery {
  readonly #options: RecoveryOptions
  readonly #stop = new AbortController()
  readonly #running = new Map<string, Promise<void>>()

  constructor(options: RecoveryOptions) {
    this.#options = options
  }

  /** Probes this signer until it needs no more probes. */
  wake(signer: string): void {
    if (this.#running.has(signer) || this.#stop.signal.aborted) return
    if (this.#options.need(signer) === undefined) return
    const run = this.#run(signer)
      .catch(() => undefined)
      .finally(() => this.#running.delete(signer))
    this.#running.set(signer, run)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running.values())
  }

  async #run(signer: string): Promise<void> {
    const { need, probe, limits } = this.#options
    const { signal } = this.#stop
    for (let round = 0; ; round++) {
      const urgency = need(signer)
      if (urgency === undefined) return
      const longest = Math.min(limits.probeMs * 2 ** round, limits.maxProbeMs) * delayFactors[urgency]
      // Randomised so that replicas do not all return at once (F36).
      await pause(longest * (0.75 + Math.random() * 0.25), undefined, { signal, ref: false })
      await probe(signal, signer)
    }
  }
}
