import { inspect } from 'node:util'

const mask = '[secret]'

/** A value that no print, log, error or JSON shows: only `reveal()` does. */
export class Secret {
  readonly #value: string
  /** The environment variable that it comes from: no reload sees another value of that. */
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
