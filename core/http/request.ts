import type { IncomingMessage } from 'node:http'
import type { EndpointRequest } from '../endpoints/message.js'
import type { ClientCertificate } from '../certificates/client-certificate.js'
import { OAuthError } from '../oauth/errors.js'
import { parseParameters, type ParameterList } from '../oauth/requests/params.js'
import type { Exchange } from './exchange.js'

/** The services of the application that a request needs. */
export interface RequestServices {
  readonly addressOf: (request: IncomingMessage) => string
  /** Throws `invalid_request` for a header that does not parse. */
  readonly certificateOf: (request: IncomingMessage) => ClientCertificate | undefined
  readonly deadline: () => AbortSignal
}

const visibleAscii = /^[\x21-\x7e]*$/

/** The only way from HTTP into an endpoint. Nothing is parsed before it is needed. */
export class HttpRequest implements EndpointRequest {
  readonly method: string
  readonly form: ParameterList
  readonly path: ReadonlyMap<string, string>
  readonly body: Buffer | undefined
  readonly #request: IncomingMessage
  readonly #exchange: Exchange
  readonly #services: RequestServices
  #query: ParameterList | undefined
  #cookies: ReadonlyMap<string, string | undefined> | undefined
  #signal: AbortSignal | undefined
  #address: string | undefined

  constructor(
    request: IncomingMessage,
    exchange: Exchange,
    services: RequestServices,
    form: ParameterList,
    body: Buffer | undefined,
  ) {
    this.#request = request
    this.#exchange = exchange
    this.#services = services
    // node:http omits the body of an answer to HEAD.
    this.method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET')
    this.form = form
    this.path = exchange.pathParameters
    this.body = body
  }

  get requestId(): string {
    return this.#exchange.requestId
  }

  get query(): ParameterList {
    return (this.#query ??= parseQuery(this.#exchange.search))
  }

  get address(): string {
    return (this.#address ??= this.#services.addressOf(this.#request))
  }

  get signal(): AbortSignal {
    return (this.#signal ??= this.#services.deadline())
  }

  clientCertificate(): ClientCertificate | undefined {
    return this.#services.certificateOf(this.#request)
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name]
    return typeof value === 'string' ? value : undefined
  }

  cookie(name: string): string | undefined {
    return (this.#cookies ??= parseCookies(this.#request.headers.cookie ?? '')).get(name)
  }
}

const parseQuery = (search: string): ParameterList => {
  if (!visibleAscii.test(search)) throw new OAuthError('invalid_request', 'A parameter is not encoded correctly.')
  return parseParameters(search)
}

/**
 * Parses cookies as in RFC 6265 §4.2.1. A name that appears twice is ignored, because another host of the domain has
 * set one of the two.
 */
const parseCookies = (header: string): ReadonlyMap<string, string | undefined> => {
  const cookies = new Map<string, string | undefined>()
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    if (equals === -1) continue
    const name = pair.slice(0, equals).trim()
    cookies.set(name, cookies.has(name) ? undefined : pair.slice(equals + 1).trim())
  }
  return cookies
}
