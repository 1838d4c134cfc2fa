import Router from '@koa/router'
import type { Next } from 'koa'
import type { Context, Exchange, Middleware } from './exchange.js'
import type { Route } from './route.js'

/** What an id of ours or the name of an asset may look like. */
const isSegment = (text: string): boolean => /^[\w-][\w.~-]{0,127}$/.test(text)

const hasParameters = ({ path }: Route): boolean => path.includes('{')

/**
 * Finds the row of a request once, for all that follows: a fixed path by one look into a map, a path with parameters by
 * the router.
 */
export const findRoute = (table: readonly Route[]): Middleware => {
  const fixed = new Map(table.filter((route) => !hasParameters(route)).map((route) => [route.path, route]))
  const router = new Router<Exchange>({ sensitive: true, strict: true })
  for (const route of table.filter(hasParameters))
    router.all(route.path.replaceAll(/\{(\w+)\}/g, ':$1'), ({ params, state }, next) => {
      if (Object.values(params).every(isSegment)) {
        state.route = route
        state.pathParameters = new Map(Object.entries(params))
      }
      return next()
    })
  const findByRouter = router.routes() as unknown as (ctx: Context, next: Next) => Promise<void>
  return (ctx, next) => {
    const { state } = ctx
    state.route = fixed.get(state.path)
    // The router decodes; no path of ours has anything encoded.
    if (state.route !== undefined || state.path.includes('%')) return next()
    ;(ctx as { newRouterPath?: string }).newRouterPath = state.path
    return findByRouter(ctx, next)
  }
}
