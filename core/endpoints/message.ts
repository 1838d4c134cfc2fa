import type { ClientCertificate } from '../certificates/client-certificate.js'
import type { ParameterList } from '../oauth/requests/params.js'

/** What an endpoint sees of an HTTP request. Created by `core/http`; nothing else of HTTP gets here. */
export interface EndpointRequest {
  readonly method: string
  /** Query parameters, flat. Repeated names are reported, not merged. */
  readonly query: ParameterList
  /** Parameters of a form body, empty if there was none. */
  readonly form: ParameterList
  /** Unparsed bytes of a JSON body. Undefined on routes without one. */
  readonly body?: Buffer | undefined
  /** For example `{id}` of `/interaction/{id}/login`. */
  readonly path: ReadonlyMap<string, string>
  /** A header by its lower-case name. Repetition of a single-value header was refused before. */
  header(name: string): string | undefined
  cookie(name: string): string | undefined
  /**
   * The client's certificate, from the connection or from a trusted proxy's header. Undefined if there is none.
   * Throws `invalid_request` for an invalid header.
   */
  clientCertificate(): ClientCertificate | undefined
  /** The caller's address, taken from trusted proxies only. */
  readonly address: string
  readonly requestId: string
  /** Aborted at the request's deadline. */
  readonly signal: AbortSignal
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** `Set-Cookie` values. */
  readonly cookies?: readonly string[]
  /** For a page: origins, besides our own, from which pictures may be loaded. */
  readonly images?: readonly string[]
  readonly body?: string | Buffer
}

/** Answers one request. Throws `OAuthError` for a refusal, `Unavailable` for an outage. */
export type Handler = (request: EndpointRequest) => Promise<Reply> | Reply

const noStore = { 'Cache-Control': 'no-store', Pragma: 'no-cache' } as const

const jsonHeaders = Object.freeze({ 'Content-Type': 'application/json; charset=utf-8', ...noStore })

/** A JSON answer that no cache may keep (RFC 6749 §5.1). */
export const json = (status: number, body: unknown, headers?: Readonly<Record<string, string>>): Reply => ({
  status,
  headers: headers === undefined ? jsonHeaders : { ...jsonHeaders, ...headers },
  body: JSON.stringify(body),
})

/** The same for serialised JSON. */
export const jsonText = (status: number, text: string): Reply => ({ status, headers: jsonHeaders, body: text })

/** A page in this language. The middleware sets security headers (`core/http`). */
export const page = (status: number, html: string, language: string, cookies: readonly string[] = []): Reply => ({
  status,
  headers: {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Language': language,
    Vary: 'Accept-Language',
    ...noStore,
  },
  cookies,
  body: html,
})

/** 303, so that a form with credentials is never posted again (RFC 9700 §4.12). */
export const redirect = (location: string, cookies: readonly string[] = []): Reply => ({
  status: 303,
  headers: { Location: location, ...noStore },
  cookies,
})
