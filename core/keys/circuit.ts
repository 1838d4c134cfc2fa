/** `half_open`: keys are being probed; nobody else is let through. */
export type CircuitState = 'closed' | 'open' | 'half_open'

/**
 * Keeps orders away from a backend that does not answer. It opens when failures that weigh `limit` together have come
 * with no answer between them; only a probe closes it.
 */
export class Circuit {
  readonly #limit: number
  readonly #changed: (state: CircuitState) => void
  #weight = 0
  #state: CircuitState = 'closed'

  constructor(limit: number, changed: (state: CircuitState) => void) {
    this.#limit = limit
    this.#changed = changed
  }

  get state(): CircuitState {
    return this.#state
  }

  /** The backend answered, if only with a refusal. Says nothing of a circuit that is open: the answer may be an old one. */
  answered(): void {
    this.#weight = 0
  }

  failed(weight: number): void {
    this.#weight += weight
    if (this.#state === 'closed' && this.#weight >= this.#limit) this.#become('open')
  }

  /** The probe of an open circuit begins. */
  probe(): void {
    if (this.#state === 'open') this.#become('half_open')
  }

  /** How the probe ended. */
  probed(works: boolean): void {
    if (this.#state !== 'half_open') return
    if (works) this.#weight = 0
    this.#become(works ? 'closed' : 'open')
  }

  #become(state: CircuitState): void {
    this.#state = state
    this.#changed(state)
  }
}
