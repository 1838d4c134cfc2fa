import { setMaxListeners } from 'node:events'
import { Unavailable } from '../unavailable.js'

const windowMs = 100

/**
 * Creates deadlines for requests: a signal that is aborted with `Unavailable` after `budgetMs`, at most 100 ms late.
 * Requests of one window share it, so that a request needs no timer of its own.
 */
export const createDeadlines = (budgetMs: number): (() => AbortSignal) => {
  let signal: AbortSignal
  let windowEnd = -1
  return () => {
    const now = performance.now()
    if (now < windowEnd) return signal
    const controller = new AbortController()
    signal = controller.signal
    // Many requests listen to one signal by design.
    setMaxListeners(0, signal)
    windowEnd = now + windowMs
    setTimeout(() => {
      controller.abort(new Unavailable('deadline', 'unknown', 'The request took too long'))
    }, windowMs + budgetMs).unref()
    return signal
  }
}
