/** Milliseconds between two looks. */
const everyMs = 20

/**
 * How late the event loop is, and has been for two looks in a row: one pause that is over, of the garbage collector say,
 * is none. What waits in a loop that is held up is served before the next look, so the time since the last one counts.
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

  /** Milliseconds, now. */
  get current(): number {
    const overdue = performance.now() - this.#last - everyMs
    return Math.max(0, Math.min(this.#measured, Math.max(this.#before, overdue)))
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
