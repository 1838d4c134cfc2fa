import type { JsonObject } from '../json.js'
import type { AuditEventName } from '../observe/audit.js'
import type { Handler } from './message.js'
import type { RecordedHandler } from './refusals.js'
import type { Supported } from './supported.js'
import type { SaidKey } from '../oauth/said.js'

/** All that others need to know of an endpoint before it can answer: HTTP, the limits, the audit log and discovery read it. */
export interface Declaration {
  /**
   * Below the issuer's, matched exactly, byte by byte. `{name}` stands for one path segment. A document of `/.well-known/`
   * is served where OIDC Discovery §4.1 appends it and where RFC 8414 §3.1 inserts it.
   */
  readonly path: string
  /** HEAD comes with GET. Anything else is answered 405. */
  readonly methods: readonly ('GET' | 'POST' | 'PUT' | 'DELETE')[]
  /**
   * Of a POST or PUT: `form` is read by the flat form reader, `page-form` is a browser's form, read by koa-body, `json` is
   * handed on as bytes, `none` is never read.
   */
  readonly body: 'none' | 'form' | 'page-form' | 'json'
  /**
   * Pages of other origins may read the answer (Fetch §3.2), without credentials: a public document, or an endpoint that
   * browser-based clients call.
   */
  readonly cors?: true
  /** Errors have an `error_code` (docs/design/decisions.md#8-attestation). */
  readonly errorCodes?: true
  /** Heading of the error page where people see it; absent: errors are JSON. */
  readonly errorTitle?: SaidKey
  /** Answered from memory, so that it is answered however busy the process is. */
  readonly fromMemory?: true
  readonly limit: EndpointLimit
  /** The name under which refusals go to the audit log; absent: the endpoint records its own, or has none. */
  readonly refusedEvent?: AuditEventName
  /** Members of the discovery document (RFC 8414 §2). */
  readonly discovery?: (supported: Supported) => JsonObject
}

export interface EndpointLimit {
  /** The section of `rate_limits` that says how many requests a minute one address may send. */
  readonly byAddress: string
  /** What they are counted as; absent: together with all endpoints of the section. */
  readonly countedAs?: string
  /** Turns away an address of which too many requests were refused as nobody's: for what machines call. */
  readonly byRefusals: boolean
}

/** What answers an endpoint: with `refusedEvent`, it says who sent the request as soon as it knows. */
export type HandlerOf<Declared> = Declared extends { readonly refusedEvent: AuditEventName } ? RecordedHandler : Handler

/** An endpoint that can answer. */
export interface Endpoint extends Declaration {
  readonly answer: Handler
}

export type HandlersOf<Declared extends Readonly<Record<string, Declaration>>> = {
  readonly [Name in keyof Declared]: HandlerOf<Declared[Name]>
}
