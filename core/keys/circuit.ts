/** `half_open`: keys are being probed, and no other call is let through. */
export type CircuitState = 'closed' | 'open' | 'half_open'

/**
 * Keeps signing requests away from a backend that does not answer. It opens when failures with a total weight of
 * `limit` occur without an answer between them, and only a probe closes it.
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

  /** The backend answered, even if with a refusal. An open circuit stays open, because the answer may be an old one. */
  answered(): void {
    this.#weight = 0
  }

  failed(weight: number): void {
    this.#weight += weight
    if (this.#state === 'closed' && this.#weight >= this.#limit) this.#become('open')
  }

  /** Marks the start of a probe of an open circuit. */
  probe(): void {
    if (this.#state === 'open') this.#become('half_open')
  }

  /** Records the result of the probe. */
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
