import { inspect } from 'node:util'

const mask = '[secret]'

/** A value that is hidden in output, logs, errors and JSON; only `reveal()` returns it. */
export class Secret {
  readonly #value: string
  /** The environment variable that it comes from, whose value no reload can change. */
  readonly variable: string | undefined

  constructor(value: string, variable?: string) {
    this.#value = value
    this.variable = variable
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return mask
  }

  toJSON(): string {
    return mask
  }

  [inspect.custom](): string {
    return mask
  }
}
