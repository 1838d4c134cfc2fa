/**
 * Gives `call` a signal that is aborted after `milliseconds` or with `outer`, and rejects then, whether the call heeds it
 * or not: with what `late` makes, or with the reason of `outer`.
 */
export const withDeadline = <T>(
  milliseconds: number,
  outer: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
  late: () => Error,
): Promise<T> => {
  if (outer.aborted) return Promise.reject(outer.reason as Error)
  return new Promise((resolve, reject) => {
    const controller = new AbortController()
    const stop = (reason: Error): void => {
      end()
      // First, so that the caller hears of the deadline and not of what the call makes of it.
      reject(reason)
      controller.abort(reason)
    }
    const abandon = (): void => stop(outer.reason as Error)
    const timer = setTimeout(() => stop(late()), milliseconds)
    const end = (): void => {
      clearTimeout(timer)
      outer.removeEventListener('abort', abandon)
    }
    outer.addEventListener('abort', abandon)
    call(controller.signal).then(
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
