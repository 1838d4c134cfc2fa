import type { IncomingMessage } from 'node:http'
import { noParameters } from '../oauth/requests/params.js'
import { OAuthError } from '../oauth/errors.js'
import { said } from '../oauth/said.js'
import { answer } from './answer.js'
import { checkBodyHeaders, readBytes, type BodyKind } from './body-bytes.js'
import { acceptsPages, type Context, type Middleware } from './exchange.js'
import { readForm } from './form-reader.js'
import { readPageForm } from './page-form.js'
import { HttpRequest, type RequestServices } from './request.js'
import type { Route } from './route.js'

const methodsWithBody: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/** Passes the request to the endpoint of its row. */
export const dispatch =
  (services: RequestServices): Middleware =>
  (ctx, next) => {
    const { route } = ctx.state
    return route === undefined ? next() : serve(ctx, route, services)
  }

const serve = async (ctx: Context, route: Route, services: RequestServices): Promise<void> => {
  ctx.state.routePath = route.path
  ctx.state.hasErrorCodes = route.errorCodes === true
  checkMethod(ctx, route)
  ctx.state.errorTitle = route.errorTitle
  const hasBody = methodsWithBody.has(ctx.req.method ?? '')
  const form = hasBody ? await readFormOf(ctx, route) : noParameters
  if (route.errorTitle !== undefined) ctx.state.uiLocales = form.values.get('ui_locales')
  const body = hasBody && route.body === 'json' ? await readJsonBody(ctx.req) : undefined
  answer(ctx, await route.answer(new HttpRequest(ctx.req, ctx.state, services, form, body)))
}

const jsonBody: BodyKind = {
  mediaType: 'application/json',
  maxBytes: 32 * 1024,
  refusal: 'The body must be application/json in UTF-8.',
}

/**
 * Returns the bytes of a JSON body, which are empty when there is no body. Throws as `checkBodyHeaders` and
 * `readBytes`.
 */
const readJsonBody = async (request: IncomingMessage): Promise<Buffer> =>
  checkBodyHeaders(request, jsonBody) ? readBytes(request, jsonBody.maxBytes) : Buffer.alloc(0)

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

/** This is the last middleware. People get a page, and machines get JSON. */
export const notFound: Middleware = (ctx) => {
  if (acceptsPages(ctx.req)) ctx.state.errorTitle = 'page_not_found'
  throw new OAuthError('invalid_request', said('no_page'), { status: 404 })
}
