type Stop = () => void

/** One listener for each signal: many requests share one, and adding and removing a listener costs 2 µs. */
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
 * Settles as `work` does, but rejects as soon as `signal` is aborted, whether the work heeds the signal or not: with what
 * `late` makes, by default the reason of the signal. Does not begin the work under a signal that is aborted already.
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
 * Settles as `work` does, but rejects after `milliseconds` with what `late` makes, and with the reason of `outer` when that
 * is aborted, whether the work heeds its signal or not. The work's signal is aborted with the same error.
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
      // First, so that the caller hears of the deadline and not of what the work makes of it.
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

/** Settles as `work` does, but rejects after `milliseconds` with what `late` makes. The work goes on: it gets no signal. */
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

/** Waits for `work`, for so many milliseconds at most. Rejects as the work does. */
export const atMost = async (milliseconds: number, work: Promise<unknown>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([work, late]).finally(() => clearTimeout(timer))
}
