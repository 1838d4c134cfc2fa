import { OAuthError } from '../oauth/errors.js'
import { said } from '../oauth/said.js'
import { retryAfter } from './error-response.js'
import type { Middleware } from './exchange.js'

/** The lag in milliseconds beyond which more work only delays everything (F27). */
const maxLagMs = 200

export interface LoadShedding {
  /** The lag of the event loop in milliseconds. */
  readonly lag: { readonly current: number }
  /** This is called for each request that was turned away. */
  readonly shed: () => void
}

/** Turns away every request while the event loop is late, except those that are answered from memory. */
export const shedLoad =
  ({ lag, shed }: LoadShedding): Middleware =>
  ({ state }, next) => {
    const { route } = state
    if (lag.current <= maxLagMs || route?.fromMemory) return next()
    shed()
    state.routePath = route?.path
    state.errorTitle = route?.errorTitle
    state.hasErrorCodes = route?.errorCodes === true
    throw new OAuthError('temporarily_unavailable', said('unavailable'), {
      headers: { 'Retry-After': retryAfter() },
    })
  }
