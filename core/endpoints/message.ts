import type { ClientCertificate } from '../certificates/client-certificate.js'
import type { ParameterList } from '../oauth/requests/params.js'

/** What an endpoint may see of an HTTP request. Made by `core/http`; nothing else of HTTP comes in here. */
export interface EndpointRequest {
  readonly method: string
  /** Parameters of the query, flat; repeated names are reported, not merged. */
  readonly query: ParameterList
  /** Parameters of a form body; empty where there was none. */
  readonly form: ParameterList
  /** Bytes of a JSON body, not yet looked at; undefined on routes that take none. */
  readonly body?: Buffer | undefined
  /** `{id}` of `/interaction/{id}/login`. */
  readonly path: ReadonlyMap<string, string>
  /** A header by its lower-case name; one that came twice where only one may come is refused before. */
  header(name: string): string | undefined
  cookie(name: string): string | undefined
  /**
   * The client's certificate: of the connection, or of the header that a trusted proxy sets. Undefined where there is none.
   * Throws `invalid_request` for a header that does not parse.
   */
  clientCertificate(): ClientCertificate | undefined
  /** The caller's address, through trusted proxies only. */
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
  /** Of a page: origins beside our own that it takes pictures from, and no others are asked. */
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

/** The same for JSON that was written before. */
export const jsonText = (status: number, text: string): Reply => ({ status, headers: jsonHeaders, body: text })

/** A page in this language. Its security headers are the middleware's (`core/http`). */
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

/** 303: a credential form is never posted again (RFC 9700 §4.12). */
export const redirect = (location: string, cookies: readonly string[] = []): Reply => ({
  status: 303,
  headers: { Location: location, ...noStore },
  cookies,
})
