/** Milliseconds between two measurements. */
const everyMs = 20

/**
 * How late the event loop is, confirmed by two measurements in a row, so that a single pause, for example of the
 * garbage collector, does not count. Events waiting in a blocked loop are served before the next measurement, so the
 * time since the last one counts too.
 */
export class LoopLag implements Disposable {
  #last = performance.now()
  #measured = 0
  #before = 0
  readonly #timer: NodeJS.Timeout

  constructor() {
    this.#timer = setInterval(() => {
      const now = performance.now()
      this.#before = this.#measured
      this.#measured = Math.max(0, now - this.#last - everyMs)
      this.#last = now
    }, everyMs).unref()
  }

  /** The current lag in milliseconds. */
  get current(): number {
    const overdue = performance.now() - this.#last - everyMs
    return Math.max(0, Math.min(this.#measured, Math.max(this.#before, overdue)))
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
