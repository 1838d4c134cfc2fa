import { OAuthError } from '../oauth/errors.js'
import { said } from '../oauth/said.js'
import { retryAfter } from './error-response.js'
import type { Middleware } from './exchange.js'

/** Milliseconds of lag beyond which more work only makes everything later (F27). */
const maxLagMs = 200

export interface LoadShedding {
  /** How late the event loop is, in milliseconds. */
  readonly lag: { readonly current: number }
  /** Called for each request that was turned away. */
  readonly shed: () => void
}

/** While the event loop is late, turns away every request but those that are answered from memory. */
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
