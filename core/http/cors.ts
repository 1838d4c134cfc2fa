import { answer } from './answer.js'
import type { Middleware } from './exchange.js'
import type { Route } from './route.js'

/**
 * Lets other origins read what the table says they may: never with credentials, and no answer here depends on a cookie,
 * so that `*` is safe for every origin, `null` too (Fetch §3.2.5). Preflights of these routes end here.
 */
export const cors = (table: readonly Route[]): Middleware => {
  const byRoute = new Map(table.filter(({ cors }) => cors !== undefined).map((route) => [route, headersOf(route)]))
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

const exposed = 'WWW-Authenticate, DPoP-Nonce, OAuth-Client-Attestation-Challenge, Retry-After, X-Request-Id'
const allowed = 'Authorization, Content-Type, DPoP, OAuth-Client-Attestation, OAuth-Client-Attestation-PoP'

const headersOf = (
  route: Route,
): { readonly actual: readonly string[]; readonly preflight: Record<string, string> } => {
  const actual = ['Access-Control-Allow-Origin', '*']
  const preflight = {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Methods': route.methods.join(', '),
    'Access-Control-Max-Age': '3600',
  }
  if (route.cors === 'any') return { actual, preflight }
  return {
    actual: [...actual, 'Access-Control-Expose-Headers', exposed],
    preflight: { ...preflight, 'Access-Control-Allow-Headers': allowed },
  }
}
