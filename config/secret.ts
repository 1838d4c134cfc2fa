import { inspect } from 'node:util'

const mask = '[secret]'

/** A value that no print, log, error or JSON shows: only `reveal()` does. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
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
