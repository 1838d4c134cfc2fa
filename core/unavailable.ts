const brand = Symbol.for('signet.Unavailable')

/**
 * A dependency (store, signer, host hook) is down, slow or full. The client always gets 503
 * `temporarily_unavailable`, never a grant error.
 *
 * `applied: 'no'` means that the effect certainly did not happen and the caller may try again. `applied: 'unknown'`
 * means that it may have happened, so a consumption must never be repeated.
 */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
  readonly [brand] = true
  readonly component: string
  readonly applied: 'no' | 'unknown'

  /** `component` is the operator's name for the part: `storage.records`, `signers.hsm`. */
  constructor(component: string, applied: 'no' | 'unknown', message: string, options?: ErrorOptions) {
    super(message, options)
    this.component = component
    this.applied = applied
  }

  /** A plugin or signer may bring its own copy of this package, and its outages count too. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }
}
