import type { IncomingMessage } from 'node:http'
import type { Middleware as KoaMiddleware, ParameterizedContext } from 'koa'
import { OAuthError, type ErrorCode } from '../oauth/errors.js'
import type { Route } from './route.js'
import type { Said, SaidKey } from '../oauth/said.js'

const noPathParameters: ReadonlyMap<string, string> = new Map()

/** What the middlewares know about one request and its answer. It is stored in `ctx.state`. */
export class Exchange {
  readonly requestId: string
  /** The path as it was sent, without the query. */
  readonly path: string
  /** The query as it was sent, without the question mark. */
  readonly search: string
  /** The headers that every answer to this request carries, as alternating names and values. */
  readonly headers: string[]
  /** The further headers that pages carry, unless the reply has its own. */
  pageHeaders: Readonly<Record<string, string>>
  /** The row that serves this path. */
  route: Route | undefined
  /** The values in the path where the row has `{name}`. */
  pathParameters: ReadonlyMap<string, string>
  /** The path of the row once it is found. This is what the log records. */
  routePath: string | undefined
  /** The heading of the error page. If it is undefined, errors are JSON. */
  errorTitle: SaidKey | undefined
  /** The `ui_locales` of a form, for its error page. The value is untrusted. */
  uiLocales: string | undefined
  /** True when errors are problem documents, also where no row serves the path. */
  hasProblems: boolean
  /** True when errors have an `error_code`. */
  hasErrorCodes: boolean
  /** The error with which the request was refused. */
  error: ErrorCode | undefined
  /** The reason of the refusal, for the operator. */
  reason: string | undefined
  /** The component whose outage failed the request. */
  outage: string | undefined
  /** The position of the request in a trace (W3C Trace Context). */
  traceparent: string | undefined

  constructor(requestId: string, url: string) {
    const target = url.startsWith('/') ? url : originForm(url)
    const mark = target.indexOf('?')
    this.requestId = requestId
    this.path = mark === -1 ? target : target.slice(0, mark)
    this.search = mark === -1 ? '' : target.slice(mark + 1)
    this.headers = ['X-Request-Id', requestId]
    this.pageHeaders = {}
    this.route = undefined
    this.pathParameters = noPathParameters
    this.routePath = undefined
    this.errorTitle = undefined
    this.uiLocales = undefined
    this.hasProblems = false
    this.hasErrorCodes = false
    this.error = undefined
    this.reason = undefined
    this.outage = undefined
    this.traceparent = undefined
  }
}

export type Context = ParameterizedContext<Exchange>
export type Middleware = KoaMiddleware<Exchange>

/** The absolute form is accepted, but its authority is ignored (RFC 9112 §3.2.2). */
const originForm = (url: string): string => {
  const rest = /^https?:\/\/[^/?#]*(.*)$/i.exec(url)?.[1]
  return rest === undefined ? url : rest.startsWith('/') ? rest : `/${rest}`
}

const maxHeaders = 100
/**
 * The limit covers names, values and the address. The parser reads twice as much, so that people get a page that says
 * what to do.
 */
const maxHeaderBytes = 16 * 1024

/** Returns true when a person waits for the answer in a browser. */
export const acceptsPages = ({ headers }: IncomingMessage): boolean => headers.accept?.includes('text/html') === true

/** Returns true when the headers are longer than what is read of one request. */
export const hasLongHeaders = ({ url = '', rawHeaders }: IncomingMessage): boolean => {
  let bytes = url.length
  for (const text of rawHeaders) bytes += text.length
  return bytes > maxHeaderBytes
}

/** Answers 431 and closes the connection. */
export const tooLongHeaders = (description: string | Said = 'The headers are too large.'): OAuthError =>
  refused(description, 431)
const onlyOnce = new Map([
  ['host', 1],
  ['authorization', 2],
  ['dpop', 4],
  ['content-type', 8],
])

/**
 * Throws when the request has too many headers, no `Host` where it is required (RFC 9112 §3.2), or a repeated header
 * of which the first or the last would have to be chosen (RFC 9110 §5.3, RFC 9449 §4.3). Node silently keeps the
 * first `Authorization`.
 */
export const checkHeaders = (request: IncomingMessage): void => {
  const names = request.rawHeaders
  // Node's own maxHeadersCount drops the headers over the limit, for instance a proxy's X-Forwarded-For.
  if (names.length > 2 * maxHeaders) {
    throw refused('The request has too many headers.', 431)
  }
  let seen = 0
  for (let index = 0; index < names.length; index += 2) {
    const name = names[index] as string
    if (name.length !== 4 && name.length !== 12 && name.length !== 13) continue
    const bit = onlyOnce.get(name.toLowerCase()) ?? 0
    if ((seen & bit) !== 0)
      throw refused(
        'A header was sent more than once.',
        400,
        bit === onlyOnce.get('dpop') ? 'invalid_dpop_proof' : 'invalid_request',
      )
    seen |= bit
  }
  if ((seen & 1) === 0 && request.httpVersion !== '1.0') throw refused('The Host header is missing.', 400)
}

const refused = (description: string | Said, status: number, code: ErrorCode = 'invalid_request'): OAuthError =>
  new OAuthError(code, description, { status, headers: { Connection: 'close' } })
