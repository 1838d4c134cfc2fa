import Router from '@koa/router'
import type { Next } from 'koa'
import { RecentMap } from '../recent-map.js'
import type { Context, Exchange, Middleware } from './exchange.js'
import type { Route } from './route.js'

/** What an id of ours or the name of an asset may look like. */
const isSegment = (text: string): boolean => /^[\w-][\w.~-]{0,127}$/.test(text)

const hasParameters = ({ path }: Route): boolean => path.includes('{')

interface Found {
  readonly route: Route
  readonly parameters: ReadonlyMap<string, string>
}
/** Paths of assets and status lists, and of whatever strangers make up. */
const mostFound = 256

/**
 * Finds the row of a request once, for all that follows: a fixed path by one look into a map, a path with parameters by
 * the router.
 */
export const findRoute = (table: readonly Route[]): Middleware => {
  const fixed = new Map(table.filter((route) => !hasParameters(route)).map((route) => [route.path, route]))
  /** What is answered from memory is found there too: the router takes longer than the answer. */
  const found = new RecentMap<string, Found>(mostFound)
  const router = new Router<Exchange>({ sensitive: true, strict: true })
  for (const route of table.filter(hasParameters))
    router.all(route.path.replaceAll(/\{(\w+)\}/g, ':$1'), ({ params, state }, next) => {
      if (Object.values(params).every(isSegment)) {
        state.route = route
        state.pathParameters = new Map(Object.entries(params))
        if (route.fromMemory) found.set(state.path, { route, parameters: state.pathParameters })
      }
      return next()
    })
  const findByRouter = router.routes() as unknown as (ctx: Context, next: Next) => Promise<void>
  return (ctx, next) => {
    const { state } = ctx
    state.route = fixed.get(state.path)
    const known = state.route === undefined ? found.get(state.path) : undefined
    if (known !== undefined) {
      state.route = known.route
      state.pathParameters = known.parameters
      return next()
    }
    // The router decodes; no path of ours has anything encoded.
    if (state.route !== undefined || state.path.includes('%')) return next()
    ;(ctx as { newRouterPath?: string }).newRouterPath = state.path
    return findByRouter(ctx, next)
  }
}
