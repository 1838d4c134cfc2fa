type Stop = () => void

/** One listener per signal: many requests share a signal, and adding and removing a listener costs 2 µs. */
const waiting = new WeakMap<AbortSignal, Set<Stop>>()

const waitingFor = (signal: AbortSignal): Set<Stop> => {
  const known = waiting.get(signal)
  if (known !== undefined) return known
  const stops = new Set<Stop>()
  waiting.set(signal, stops)
  signal.addEventListener('abort', () => stops.forEach((stop) => stop()), { once: true })
  return stops
}

/**
 * Settles like `work`, but rejects as soon as `signal` is aborted, whether or not the work heeds it, with the result
 * of `late` (by default the signal's reason). Work is not started under an aborted signal.
 */
export const until = <T>(
  signal: AbortSignal,
  work: () => Promise<T>,
  late: () => Error = () => signal.reason as Error,
): Promise<T> => {
  if (signal.aborted) return Promise.reject(late())
  const stops = waitingFor(signal)
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(late())
    stops.add(stop)
    work().then(
      (value) => {
        stops.delete(stop)
        resolve(value)
      },
      (error: Error) => {
        stops.delete(stop)
        reject(error)
      },
    )
  })
}

/**
 * Settles like `work`, but rejects after `milliseconds` with the result of `late`, or with the reason of `outer` when
 * that is aborted, whether or not the work heeds its signal. The work's signal is aborted with the same error.
 */
export const withDeadline = <T>(
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<T>,
  late: () => Error,
  outer?: AbortSignal,
): Promise<T> => {
  if (outer?.aborted) return Promise.reject(outer.reason as Error)
  return new Promise((resolve, reject) => {
    const controller = new AbortController()
    const stop = (reason: Error): void => {
      end()
      // Comes first, so that the caller gets the deadline and not the work's reaction to it.
      reject(reason)
      controller.abort(reason)
    }
    const abandon = (): void => stop(outer?.reason as Error)
    const timer = setTimeout(() => stop(late()), milliseconds)
    const end = (): void => {
      clearTimeout(timer)
      if (outer) waitingFor(outer).delete(abandon)
    }
    if (outer) waitingFor(outer).add(abandon)
    work(controller.signal).then(
      (value) => {
        end()
        resolve(value)
      },
      (cause: Error) => {
        end()
        reject(cause)
      },
    )
  })
}

/**
 * Settles like `work`, but rejects after `milliseconds` with the result of `late`. The work continues, because it
 * gets no signal.
 */
export const within = <T>(milliseconds: number, work: Promise<T>, late: () => Error): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), milliseconds)
    work.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (cause: Error) => {
        clearTimeout(timer)
        reject(cause)
      },
    )
  })

/** Waits for `work`, at most so many milliseconds. Rejects as the work does. */
export const atMost = async (milliseconds: number, work: Promise<unknown>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([work, late]).finally(() => clearTimeout(timer))
}
