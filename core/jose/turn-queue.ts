export interface TurnQueue<Job> {
  /** Jobs whose turn has not come. */
  readonly length: number
  readonly push: (job: Job) => void
}

/**
 * Does all jobs that one turn of the event loop brings together, in its check phase: their answers then leave together,
 * and no thread is woken for a few µs of work. No turn works longer than `turnMs` milliseconds and the job that is over
 * it; what is left waits until the network was served. `run` must not throw.
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
