import type { IncomingMessage } from 'node:http'
import type { Middleware as KoaMiddleware, ParameterizedContext } from 'koa'
import { OAuthError, type ErrorCode } from '../oauth/errors.js'
import type { Route } from './route.js'
import type { Said, SaidKey } from '../oauth/said.js'

const noPathParameters: ReadonlyMap<string, string> = new Map()

/** What the middlewares know of one request and its answer: `ctx.state`. */
export class Exchange {
  readonly requestId: string
  /** The path as it was sent, without the query. */
  readonly path: string
  /** The query as it was sent, without the question mark. */
  readonly search: string
  /** Headers that any answer to this request carries: names and values in turn. */
  readonly headers: string[]
  /** Headers that pages carry beside those, unless the reply has its own. */
  pageHeaders: Readonly<Record<string, string>>
  /** The row that serves this path. */
  route: Route | undefined
  /** What stands in the path where the row has `{name}`. */
  pathParameters: ReadonlyMap<string, string>
  /** The row's path once it is found: what the log tells. */
  routePath: string | undefined
  /** Heading of the error page; undefined: errors are JSON. */
  errorTitle: SaidKey | undefined
  /** `ui_locales` of a form, for its error page. Untrusted. */
  uiLocales: string | undefined
  /** Errors have an `error_code`. */
  hasErrorCodes: boolean
  /** What it was refused with. */
  error: ErrorCode | undefined
  /** Why, for the operator. */
  reason: string | undefined
  /** The component whose outage failed it. */
  outage: string | undefined
  /** Where it is in a trace (W3C Trace Context). */
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
    this.hasErrorCodes = false
    this.error = undefined
    this.reason = undefined
    this.outage = undefined
    this.traceparent = undefined
  }
}

export type Context = ParameterizedContext<Exchange>
export type Middleware = KoaMiddleware<Exchange>

/** RFC 9112 §3.2.2: the absolute form is accepted, and its authority means nothing here. */
const originForm = (url: string): string => {
  const rest = /^https?:\/\/[^/?#]*(.*)$/i.exec(url)?.[1]
  return rest === undefined ? url : rest.startsWith('/') ? rest : `/${rest}`
}

const maxHeaders = 100
/** Of the names and values, and the address. The parser reads twice as much, so that people get a page that says what to do. */
const maxHeaderBytes = 16 * 1024

/** Does a person wait for the answer, in a browser? */
export const acceptsPages = ({ headers }: IncomingMessage): boolean => headers.accept?.includes('text/html') === true

/** More than what is read of the headers of one request. */
export const hasLongHeaders = ({ url = '', rawHeaders }: IncomingMessage): boolean => {
  let bytes = url.length
  for (const text of rawHeaders) bytes += text.length
  return bytes > maxHeaderBytes
}

/** Answers 431, and closes the connection. */
export const tooLongHeaders = (description: string | Said = 'The headers are too large.'): OAuthError =>
  refused(description, 431)
const onlyOnce = new Map([
  ['host', 1],
  ['authorization', 2],
  ['dpop', 4],
  ['content-type', 8],
])

/**
 * Throws when the request has too many headers, no `Host` where there must be one (RFC 9112 §3.2), or twice one of which
 * the first or the last would have to be chosen (RFC 9110 §5.3, RFC 9449 §4.3). Node keeps the first `Authorization` in
 * silence.
 */
export const checkHeaders = (request: IncomingMessage): void => {
  const names = request.rawHeaders
  // Node's own maxHeadersCount drops what is over it, a proxy's X-Forwarded-For for instance.
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
