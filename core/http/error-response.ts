import { STATUS_CODES } from 'node:http'
import { json, page, type Reply } from '../endpoints/message.js'
import { OAuthError, type ErrorCode, type ErrorFacts, type ShownError } from '../oauth/errors.js'
import { inEnglish, said, type Said } from '../oauth/said.js'
import type { Log } from '../observe/log.js'
import { Unavailable } from '../unavailable.js'
import { answer } from './answer.js'
import type { Context, Exchange, Middleware } from './exchange.js'

/** What the request says about the languages of the person. It is untrusted. */
export interface ErrorLanguages {
  /** The value of `ui_locales`: language tags in order of preference. */
  readonly uiLocales?: string | undefined
  readonly acceptLanguage?: string | undefined
}

/** Returns an HTML document and its language. */
export type ErrorPage = (
  shown: ShownError,
  languages: ErrorLanguages,
) => { readonly html: string; readonly language: string }

/** This page is for listeners that people do not open. It has two sentences and no theme. */
export const plainErrorPage: ErrorPage = ({ title, message }) => ({
  html: `${inEnglish(title)}: ${inEnglish(message)}`,
  language: 'en',
})

interface Failure {
  readonly status: number
  readonly code: ErrorCode
  readonly description: string
  readonly said?: Said | undefined
  readonly reason?: string
  readonly errorCode?: string | undefined
  readonly clientName?: string | undefined
  readonly title?: string | Said | undefined
  readonly clientId?: string | undefined
  readonly backUrl?: string | undefined
  readonly signOutUrl?: string | undefined
  readonly facts?: ErrorFacts | undefined
  readonly uiLocales?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** The error funnel: every refusal, outage and bug of every route becomes an answer here and nowhere else. */
export const errorFunnel =
  (log: Log, errorPage: ErrorPage): Middleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      const failure = toFailure(error, ctx.state, log)
      ctx.state.error = failure.code
      ctx.state.reason = failure.reason
      answer(ctx, errorReply(failure, ctx, errorPage))
    }
  }

const toFailure = (error: unknown, exchange: Exchange, log: Log): Failure => {
  if (error instanceof OAuthError) return error
  if (error instanceof Unavailable || isAbort(error)) {
    const component = error instanceof Unavailable ? error.component : 'deadline'
    exchange.outage = component
    log.error('A request failed because of an outage', { request_id: exchange.requestId, component }, error)
    return {
      status: 503,
      code: 'temporarily_unavailable',
      ...describedBy(said('unavailable')),
      headers: { 'Retry-After': retryAfter() },
    }
  }
  const status = clientErrorStatus(error)
  if (status !== undefined) return { status, code: 'invalid_request', ...describedBy(said('malformed')) }
  log.error('A request failed', { request_id: exchange.requestId }, error)
  return { status: 500, code: 'server_error', ...describedBy(said('failed')) }
}

const describedBy = (sentence: Said): Pick<Failure, 'description' | 'said'> => ({
  description: sentence.text,
  said: sentence,
})

const isAbort = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')

/** Returns the status of errors that Koa and its middlewares throw for bad input (http-errors). */
const clientErrorStatus = (error: unknown): number | undefined => {
  if (!(error instanceof Error) || !('status' in error) || !('expose' in error)) return undefined
  const { status } = error
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined
}

/** The delay in seconds is random, so that the clients of one outage do not all return at once (F36). */
export const retryAfter = (): string => String(1 + Math.floor(Math.random() * 5))

/** Returns the name of an error that was refused before the ceremony began, or that failed in the layers below it. */
const errorCodeOf = ({ status, code }: Failure): string | undefined => {
  if (status === 429) return 'RateLimited'
  if (code === 'temporarily_unavailable') return 'Unavailable'
  return code === 'invalid_request' ? 'InvalidRequest' : undefined
}

const localesOf = (search: string): string | undefined =>
  search.includes('ui_locales') ? (new URLSearchParams(search).get('ui_locales') ?? undefined) : undefined

/** The answer of a route whose errors are problem documents (RFC 9457). */
const problem = ({ status, code, description, headers }: Failure, requestId: string): Reply => ({
  ...json(status, {
    ...{ type: 'about:blank', title: STATUS_CODES[status], status, detail: description },
    ...{ code, request_id: requestId },
  }),
  headers: { 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store', ...headers },
})

const errorReply = (failure: Failure, { state: exchange, req }: Context, errorPage: ErrorPage): Reply => {
  const { status, code, description, headers } = failure
  if (exchange.hasProblems) return problem(failure, exchange.requestId)
  if (exchange.errorTitle === undefined) {
    const error_code = exchange.hasErrorCodes ? (failure.errorCode ?? errorCodeOf(failure)) : undefined
    return json(status, { error: code, error_description: description, error_code }, headers)
  }
  const { requestId, search } = exchange
  const { clientName, clientId, backUrl, signOutUrl, facts } = failure
  const uiLocales = failure.uiLocales ?? exchange.uiLocales ?? localesOf(search)
  const title = failure.title ?? said(exchange.errorTitle)
  const isAdvised = failure.title !== undefined
  const shown = {
    status,
    title,
    isAdvised,
    message: failure.said ?? description,
    requestId,
    clientName,
    clientId,
    backUrl,
    signOutUrl,
    facts,
  }
  const { html, language } = errorPage(shown, { uiLocales, acceptLanguage: req.headers['accept-language'] })
  const reply = page(status, html, language)
  return { ...reply, headers: { ...reply.headers, ...headers } }
}
