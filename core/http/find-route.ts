import Router from '@koa/router'
import type { Next } from 'koa'
import { RecentMap } from '../recent-map.js'
import type { Context, Exchange, Middleware } from './exchange.js'
import type { Route } from './route.js'

/** The characters of our ids and of the names of assets. */
const isSegment = (text: string): boolean => /^[\w-][\w.~-]{0,127}$/.test(text)

const hasParameters = ({ path }: Route): boolean => path.includes('{')

interface Found {
  readonly route: Route
  readonly parameters: ReadonlyMap<string, string>
}
/** The cache holds paths of assets and status lists, and any path that strangers make up. */
const maxFound = 256

/**
 * Finds the row of a request once for everything that follows. A fixed path takes one lookup in a map, and a path
 * with parameters takes the router.
 */
export const findRoute = (table: readonly Route[]): Middleware => {
  const fixed = new Map(table.filter((route) => !hasParameters(route)).map((route) => [route.path, route]))
  /** Answers from memory are found here too, because the router takes longer than the answer. */
  const found = new RecentMap<string, Found>(maxFound)
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
    // The router decodes paths, but none of our paths contains anything encoded.
    if (state.route !== undefined || state.path.includes('%')) return next()
    ;(ctx as { newRouterPath?: string }).newRouterPath = state.path
    return findByRouter(ctx, next)
  }
}
