export interface TurnQueue<Job> {
  /** Jobs that have not run yet. */
  readonly length: number
  readonly push: (job: Job) => void
}

/**
 * Runs all jobs queued in one turn of the event loop together in its check phase, so that their answers leave
 * together and no thread is woken for a few µs of work. A turn stops after the job that exceeds `turnMs`
 * milliseconds; the rest wait until I/O was served. `run` must not throw.
 */
export const createTurnQueue = <Job>(turnMs: number, run: (job: Job) => void): TurnQueue<Job> => {
  let waiting: Job[] = []
  let scheduled = false
  const turn = (): void => {
    const end = performance.now() + turnMs
    let done = 0
    for (const job of waiting) {
      done++
      run(job)
      if (performance.now() >= end) break
    }
    waiting = waiting.slice(done)
    scheduled = waiting.length > 0
    if (scheduled) setImmediate(turn)
  }
  return {
    get length() {
      return waiting.length
    },
    push: (job) => {
      waiting.push(job)
      if (!scheduled) setImmediate(turn)
      scheduled = true
    },
  }
}
