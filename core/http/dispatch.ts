import Router from '@koa/router'
import type { Next } from 'koa'
import { noParameters } from '../oauth/params.js'
import { OAuthError } from '../oauth/errors.js'
import { answer } from './answer.js'
import type { Context, Middleware } from './exchange.js'
import { isSegment } from './find-route.js'
import { readForm } from './form-reader.js'
import { readJsonBody } from './json-reader.js'
import { readPageForm } from './page-form.js'
import { HttpRequest, type RequestServices } from './request.js'
import type { Route } from './route.js'

const isExact = (route: Route): boolean => !route.path.includes('{') && route.body !== 'page-form'

/** Serves the rows with a fixed path, those that machines call: one look into a map. */
export const exactRoutes = (table: readonly Route[], services: RequestServices): Middleware => {
  const byPath = new Map(table.filter(isExact).map((route) => [route.path, route]))
  return (ctx, next) => {
    const route = byPath.get(ctx.state.path)
    return route === undefined ? next() : serve(ctx, route, services)
  }
}

/** Serves pages and the rows whose path has parameters. */
export const pageRoutes = (table: readonly Route[], services: RequestServices): Middleware => {
  const router = new Router<Context['state']>({ sensitive: true, strict: true })
  for (const route of table) {
    if (isExact(route)) continue
    router.all(route.path.replaceAll(/\{(\w+)\}/g, ':$1'), (ctx, next) => {
      const path = new Map(Object.entries(ctx.params))
      return [...path.values()].every(isSegment) ? serve(ctx, route, services, path) : next()
    })
  }
  const route = router.routes() as unknown as (ctx: Context, next: Next) => Promise<void>
  return (ctx, next) => {
    // The router decodes; no path of ours has anything encoded.
    if (ctx.state.path.includes('%')) return next()
    ;(ctx as { newRouterPath?: string }).newRouterPath = ctx.state.path
    return route(ctx, next)
  }
}

const serve = async (
  ctx: Context,
  route: Route,
  services: RequestServices,
  path?: ReadonlyMap<string, string>,
): Promise<void> => {
  ctx.state.routePath = route.path
  ctx.state.hasErrorCodes = route.body === 'json'
  checkMethod(ctx, route)
  ctx.state.errorTitle = route.errorTitle
  const isPost = ctx.req.method === 'POST'
  const form = isPost ? await readFormOf(ctx, route) : noParameters
  const body = isPost && route.body === 'json' ? await readJsonBody(ctx.req) : undefined
  answer(ctx, await route.endpoint(new HttpRequest(ctx.req, ctx.state, services, { form, path, body })))
}

const checkMethod = (ctx: Context, route: Route): void => {
  const method = ctx.req.method === 'HEAD' ? 'GET' : ctx.req.method
  if ((route.methods as readonly (string | undefined)[]).includes(method)) return
  const allow: string[] = route.methods.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]))
  if (route.cors !== undefined) allow.push('OPTIONS')
  throw new OAuthError('invalid_request', 'This method is not allowed here.', {
    status: 405,
    headers: { Allow: allow.join(', ') },
  })
}

const readFormOf = (ctx: Context, { body }: Route) => {
  if (body === 'form') return readForm(ctx.req)
  return body === 'page-form' ? readPageForm(ctx) : noParameters
}

/** The end of the line. People get a page, machines JSON. */
export const notFound: Middleware = (ctx) => {
  if (ctx.req.headers.accept?.includes('text/html') === true) ctx.state.errorTitle = 'Page not found'
  throw new OAuthError('invalid_request', 'This page does not exist.', { status: 404 })
}
