import { randomFillSync } from 'node:crypto'
import type { ErrorCode } from '../oauth/errors.js'
import type { Log } from '../observe/log.js'
import { Exchange, type Middleware } from './exchange.js'

const idBytes = 16
const pool = Buffer.alloc(idBytes * 256)
let used = pool.length

/** Returns 128 random bits in hex, cut from a pool that is filled 256 at a time. */
const nextRequestId = (): string => {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += idBytes
  return pool.toString('hex', used - idBytes, used)
}

/** Gives each request an id that we generate; an id that the caller sends is ignored. */
export const identify: Middleware = (ctx, next) => {
  ctx.state = new Exchange(nextRequestId(), ctx.req.url ?? '/')
  return next()
}

const maxLoggedPath = 200

/** A request whose answer has been sent. */
export interface AnsweredRequest {
  /** The path in the route table. It is absent where the request matched none. */
  readonly endpoint?: string | undefined
  readonly status: number | 'aborted'
  readonly error?: ErrorCode | undefined
  readonly milliseconds: number
  /** The component whose outage failed the request. */
  readonly outage?: string | undefined
}

export type RequestObserver = (answered: AnsweredRequest) => void

/**
 * Writes one line for each answer. With `explain`, which is for an issuer on loopback, it says why a request was
 * refused. The path is that of the table, so that it holds no id of an interaction, and the query is never logged.
 */
export const requestLog =
  (log: Log, level: 'debug' | 'info', explain: boolean, observe?: RequestObserver): Middleware =>
  (ctx, next) => {
    const { res, req, state } = ctx
    const start = performance.now()
    res.on('close', () => {
      const status = res.writableEnded ? res.statusCode : 'aborted'
      const milliseconds = performance.now() - start
      observe?.({ endpoint: state.routePath, status, error: state.error, milliseconds, outage: state.outage })
      log[level]('request', {
        request_id: state.requestId,
        method: req.method,
        path: state.routePath ?? state.path.slice(0, maxLoggedPath),
        status,
        ms: Math.round(milliseconds * 10) / 10,
        ...(explain && state.error !== undefined && { error: state.error, reason: state.reason }),
        ...(state.traceparent !== undefined && { traceparent: state.traceparent }),
      })
    })
    return next()
  }
