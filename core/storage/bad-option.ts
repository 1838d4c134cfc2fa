const brand = Symbol.for('signet.BadOption')

/** An option of a store that only opening it shows to be wrong: the configuration is refused, and no outage is reported. */
export class BadOption extends Error {
  override readonly name = 'BadOption'
  readonly [brand] = true
  /** Within `storage.*.options`: `uri`. */
  readonly option: string

  /** `message` follows the path of the option and repeats no value. */
  constructor(option: string, message: string) {
    super(message)
    this.option = option
  }

  /** A store may bring a copy of this package of its own. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }
}
