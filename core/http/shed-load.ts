import { OAuthError } from '../oauth/errors.js'
import { retryAfter } from './error-response.js'
import type { Middleware } from './exchange.js'
import type { Route } from './route.js'

/** Milliseconds of lag beyond which more work only makes everything later (F27). */
const maxLagMs = 200

export interface LoadShedding {
  /** How late the event loop is, in milliseconds. */
  readonly lag: { readonly current: number }
  /** Told of each request that was turned away. */
  readonly shed: () => void
}

/** While the event loop is late, turns away every request but those that are answered from memory. */
export const shedLoad = (table: readonly Route[], { lag, shed }: LoadShedding): Middleware => {
  const answered = new Set(table.filter(({ fromMemory }) => fromMemory).map(({ path }) => path))
  const titles = new Map(table.map(({ path, errorTitle }) => [path, errorTitle]))
  return (ctx, next) => {
    const { state } = ctx
    if (lag.current <= maxLagMs || answered.has(state.path)) return next()
    shed()
    if (titles.has(state.path)) state.routePath = state.path
    state.errorTitle = titles.get(state.path)
    throw new OAuthError('temporarily_unavailable', 'The service is temporarily unavailable.', {
      headers: { 'Retry-After': retryAfter() },
    })
  }
}
