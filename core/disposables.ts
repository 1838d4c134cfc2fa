type Step = () => PromiseLike<void> | void

/** What has to be undone, in reverse order of doing. */
export class Disposables {
  readonly #steps: Step[] = []

  add(step: Step): void {
    this.#steps.push(step)
  }

  /** Registers `opened` to be closed with the rest, and returns it. */
  keep<T extends AsyncDisposable>(opened: T): T {
    this.add(() => opened[Symbol.asyncDispose]())
    return opened
  }

  /**
   * Runs every step once, even after one has failed. A second call does nothing. Throws `AggregateError` at the end.
   */
  async close(): Promise<void> {
    const failures: unknown[] = []
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'Not everything could be closed.')
  }
}
