import type { JsonObject } from '../json.js'
import type { PageKind } from '../interaction/pages/page.js'
import type { AuditEventName } from '../observe/audit.js'
import type { Handler } from './message.js'
import type { RecordedHandler } from './refusals.js'
import type { Supported } from './supported.js'
import type { SaidKey } from '../oauth/said.js'

/** Everything that HTTP, limits, the audit log and discovery need to know about an endpoint. */
export interface Declaration {
  /**
   * Below the issuer, matched exactly, byte by byte. `{name}` stands for one path segment. A document of
   * `/.well-known/` is served where OIDC Discovery §4.1 appends it and where RFC 8414 §3.1 inserts it.
   */
  readonly path: string
  /** HEAD is implied by GET. Other methods are answered with 405. */
  readonly methods: readonly ('GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE')[]
  /**
   * The body of a POST or PUT: `form` is read by the flat form reader, `page-form` is a browser's form, read by
   * koa-body, `json` is passed on as bytes, and `none` is never read.
   */
  readonly body: 'none' | 'form' | 'page-form' | 'json'
  /**
   * Whether pages of other origins may read the answer (Fetch §3.2) without credentials: for public documents, and
   * endpoints that browser-based clients call.
   */
  readonly cors?: true
  /** Whether errors have an `error_code` (docs/design/decisions.md#8-attestation). */
  readonly errorCodes?: true
  /** Heading of the error page for endpoints that people visit. If absent, errors are JSON. */
  readonly errorTitle?: SaidKey
  /** The pages that it shows. `signet check` renders their samples by the templates of a deployment. */
  readonly pages?: readonly PageKind<unknown>[]
  /** True when errors are problem documents (RFC 9457). */
  readonly problems?: true
  /** True when `{name}` in the path may be any id, percent-encoded. Otherwise it is one of our own ids. */
  readonly encodedIds?: true
  /** Whether it answers from memory, and thus however busy the process is. */
  readonly fromMemory?: true
  readonly limit: EndpointLimit
  /** The audit event of refusals. If absent, the endpoint records them itself, or has none. */
  readonly refusedEvent?: AuditEventName
  /** Members of the discovery document (RFC 8414 §2). */
  readonly discovery?: (supported: Supported) => JsonObject
}

export interface EndpointLimit {
  /** The section of `rate_limits` with the requests per minute and address. */
  readonly byAddress: string
  /** The counter's name. If absent, it is shared by all endpoints of the section. */
  readonly countedAs?: string
  /** Whether to turn away an address with too many anonymous refusals: for endpoints that machines call. */
  readonly byRefusals: boolean
}

/** The handler of an endpoint. With `refusedEvent`, it reports the sender of the request as soon as it is known. */
export type HandlerOf<Declared> = Declared extends { readonly refusedEvent: AuditEventName } ? RecordedHandler : Handler

/** An endpoint with its handler. */
export interface Endpoint extends Declaration {
  readonly answer: Handler
}

export type HandlersOf<Declared extends Readonly<Record<string, Declaration>>> = {
  readonly [Name in keyof Declared]: HandlerOf<Declared[Name]>
}
