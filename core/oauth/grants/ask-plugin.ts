import { until } from '../../deadline.js'
import { Unavailable } from '../../unavailable.js'
import { errorStatus, OAuthError } from '../errors.js'

/**
 * Errors that a plugin may throw are passed on. Anything else is a bug of the plugin, and never the outage of another
 * plugin.
 */
const asFailure = (what: string, error: unknown, signal: AbortSignal): unknown => {
  if (error instanceof Unavailable) return error
  if (signal.aborted) return signal.reason
  if (error instanceof OAuthError && Object.hasOwn(errorStatus, error.code) && error.status >= 400) return error
  if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')) return error
  return new Error(`${what} failed`, { cause: error })
}

/**
 * Runs a plugin until `signal` is aborted. `what` names it in messages: `a grant plugin`. Throws what the plugin
 * refuses with (`OAuthError`, `Unavailable`), the reason of `signal`, and `Error` for anything else that the plugin
 * throws.
 */
export const askPlugin = async <T>(what: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
  try {
    return await until(signal, work)
  } catch (error) {
    throw asFailure(what, error, signal)
  }
}
