const brand = Symbol.for('signet.BadOption')

/**
 * A store option that turns out wrong only on opening. The configuration is refused; it is not reported as an outage.
 */
export class BadOption extends Error {
  override readonly name = 'BadOption'
  readonly [brand] = true
  /** Relative to `storage.*.options`, for example `uri`. */
  readonly option: string

  /** `message` follows the path of the option and must not repeat a value. */
  constructor(option: string, message: string) {
    super(message)
    this.option = option
  }

  /** A store may bring its own copy of this package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }
}
