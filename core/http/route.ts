import type { Endpoint } from '../endpoints/message.js'

/**
 * One row of the route table.
 *
 * Bodies: `form` is read by the flat form reader, `page-form` is a browser's form, read by koa-body, `json` is handed on as
 * bytes, `none` is never read. Errors of a `json` route have an `error_code` (docs/design/decisions.md#8-attestation).
 */
export interface Route {
  /** Matched exactly, byte by byte. `{name}` stands for one path segment. */
  readonly path: string
  /** HEAD comes with GET. Anything else is answered 405. */
  readonly methods: readonly ('GET' | 'POST')[]
  readonly body: 'none' | 'form' | 'page-form' | 'json'
  /**
   * Who may read the answer from another origin (Fetch §3.2). `any`: a public document. `public-client`: a protocol
   * endpoint that browser-based clients call. Both without credentials.
   */
  readonly cors?: 'any' | 'public-client'
  /** Heading of the error page of a route that people see; absent: errors are JSON. */
  readonly errorTitle?: string
  /** Answered from memory, so that it is answered however busy the process is. */
  readonly fromMemory?: true
  readonly endpoint: Endpoint
}
