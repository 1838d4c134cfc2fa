import Router from '@koa/router'
import type { Next } from 'koa'
import { RecentMap } from '../recent-map.js'
import type { Context, Exchange, Middleware } from './exchange.js'
import type { Route } from './route.js'

/** The characters of our ids and of the names of assets. */
const isSegment = (text: string): boolean => /^[\w-][\w.~-]{0,127}$/.test(text)

/** An id of a record that others chose: anything without control characters. */
const isEncodedId = (text: string): boolean => /^[^\p{Cc}]{1,512}$/u.test(text)

const hasParameters = ({ path }: Route): boolean => path.includes('{')

/** The first two segments of a path, below which all errors look alike: `/api/v1/`. */
const rootOf = ({ path }: Route): string => /^\/[^/]+\/[^/]+\//.exec(path)?.[0] ?? path

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
  const problemRoots = [...new Set(table.filter(({ problems }) => problems).map(rootOf))]
  const hasEncodedIds = table.some(({ encodedIds }) => encodedIds === true)
  /** Answers from memory are found here too, because the router takes longer than the answer. */
  const found = new RecentMap<string, Found>(maxFound)
  const router = new Router<Exchange>({ sensitive: true, strict: true })
  for (const route of table.filter(hasParameters))
    router.all(route.path.replaceAll(/\{(\w+)\}/g, ':$1'), ({ params, state }, next) => {
      // The router decodes paths, but only the ids of some rows may contain anything encoded.
      const isId = route.encodedIds ? isEncodedId : state.path.includes('%') ? () => false : isSegment
      if (Object.values(params).every(isId)) {
        state.route = route
        state.pathParameters = new Map(Object.entries(params))
        if (route.fromMemory) found.set(state.path, { route, parameters: state.pathParameters })
      }
      return next()
    })
  const findByRouter = router.routes() as unknown as (ctx: Context, next: Next) => Promise<void>
  return (ctx, next) => {
    const { state } = ctx
    state.hasProblems = problemRoots.some((root) => state.path.startsWith(root))
    state.route = fixed.get(state.path)
    const known = state.route === undefined ? found.get(state.path) : undefined
    if (known !== undefined) {
      state.route = known.route
      state.pathParameters = known.parameters
      return next()
    }
    if (state.route !== undefined || (!hasEncodedIds && state.path.includes('%'))) return next()
    ;(ctx as { newRouterPath?: string }).newRouterPath = state.path
    return findByRouter(ctx, next)
  }
}
