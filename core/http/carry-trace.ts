import { formatTraceparent, parseTraceparent } from '../observe/traceparent.js'
import type { Tracing } from '../observe/tracing.js'
import type { Context, Middleware } from './exchange.js'

/** The trace contexts of the requests under way, by request id. The audit log records them. */
export type TraceContexts = Map<string, string>

/**
 * Continues the caller's trace (W3C Trace Context) in the logs and, when an SDK is registered, in a span of this
 * request. It costs nothing without either.
 */
export const carryTrace =
  (traces: TraceContexts, tracing: Tracing | undefined): Middleware =>
  (ctx, next) => {
    const header = ctx.req.headers['traceparent']
    const parent = typeof header === 'string' ? parseTraceparent(header) : undefined
    const { requestId } = ctx.state
    const carry = async (traceparent: string): Promise<void> => {
      ctx.state.traceparent = traceparent
      traces.set(requestId, traceparent)
      try {
        await next()
      } finally {
        traces.delete(requestId)
      }
    }
    if (tracing === undefined) return parent === undefined ? next() : carry(formatTraceparent(parent))
    return tracing.request(parent, async (span) => {
      await carry(formatTraceparent(span))
      describe(ctx, span)
    })
  }

/**
 * The names follow OpenTelemetry's conventions for HTTP servers. The path is that of the table, and the query is
 * never recorded.
 */
const describe = (ctx: Context, span: Parameters<Parameters<Tracing['request']>[1]>[0]): void => {
  const { method = 'GET' } = ctx.req
  const { statusCode } = ctx.res
  const { routePath, error, requestId } = ctx.state
  span.rename(routePath === undefined ? known(method) : `${known(method)} ${routePath}`)
  span.set({
    'http.request.method': known(method),
    'http.response.status_code': statusCode,
    'signet.request_id': requestId,
    ...(routePath !== undefined && { 'http.route': routePath }),
    ...(error !== undefined && { 'error.type': error }),
  })
  if (statusCode >= 500) span.fail()
}

const methods = new Set(['GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'DELETE', 'PATCH'])

const known = (method: string): string => (methods.has(method) ? method : '_OTHER')
