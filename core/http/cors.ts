import { answer } from './answer.js'
import type { Middleware } from './exchange.js'
import type { Route } from './route.js'

/**
 * Lets other origins read what the table allows, and never with credentials. No answer here depends on a cookie, so
 * `*` is safe for every origin, even `null` (Fetch §3.2.5). Preflights of these routes end here.
 */
export const cors = (table: readonly Route[]): Middleware => {
  const byRoute = new Map(table.filter(({ cors }) => cors).map((route) => [route, headersOf(route)]))
  return (ctx, next) => {
    const headers = ctx.state.route && byRoute.get(ctx.state.route)
    if (headers === undefined) return next()
    if (ctx.req.method === 'OPTIONS') {
      ctx.state.routePath = ctx.state.path
      answer(ctx, { status: 204, headers: headers.preflight })
      return Promise.resolve()
    }
    ctx.state.headers.push(...headers.actual)
    return next()
  }
}

const exposed = [
  ...['WWW-Authenticate', 'DPoP-Nonce', 'OAuth-Client-Attestation-Challenge', 'Retry-After', 'X-Request-Id'],
  ...['ETag', 'X-FAPI-Interaction-Id'],
].join(', ')

/**
 * Without credentials `*` means every header but `Authorization` (Fetch §3.2.2). Anyone can send any header without a
 * browser.
 */
const allowed = '*, Authorization'

const headersOf = ({
  methods,
}: Route): { readonly actual: readonly string[]; readonly preflight: Record<string, string> } => ({
  actual: ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', exposed],
  preflight: {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Methods': methods.join(', '),
    'Access-Control-Allow-Headers': allowed,
    'Access-Control-Max-Age': '3600',
  },
})
