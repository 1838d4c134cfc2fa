/** Counts the users of a resource, so that it can be closed after its last use. */
export class InFlight {
  #count = 0
  readonly #waiting: (() => void)[] = []

  /** Counts a use until `work` has settled, successfully or not. */
  async during<T>(work: PromiseLike<T>): Promise<T> {
    this.#count++
    try {
      return await work
    } finally {
      this.#count--
      if (this.#count === 0) for (const resume of this.#waiting.splice(0)) resume()
    }
  }

  /** Resolves when there are no uses left. */
  async ended(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
