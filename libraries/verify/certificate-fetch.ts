import { Agent, request } from 'node:https'
import { Readable } from 'node:stream'
import type { Fetch } from './fetch-text.js'

/** A client certificate (RFC 8705). Everything is PEM. */
export interface CertificateIdentity {
  /** Includes its intermediates, if there are any. */
  readonly cert: string
  readonly key: string
  /** Authorities trusted for the server. Default: those that Node trusts. */
  readonly ca?: string
}

/** A `fetch` over connections with a client certificate, which the platform's `fetch` does not support. */
export const createCertificateFetch = (identity: CertificateIdentity): Fetch => {
  const agent = new Agent({ ...identity, keepAlive: true })
  return (url, { method = 'GET', headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const options = { agent, method, headers: Object.fromEntries(new Headers(headers)), ...(signal && { signal }) }
      const sent = request(url, options, (response) => {
        const { statusCode: status = 0 } = response
        // A `Response` with these statuses may not have a body.
        const content = status === 204 || status === 304 ? null : (Readable.toWeb(response) as ReadableStream)
        resolve(new Response(content, { status }))
      })
      sent.on('error', reject)
      sent.end(typeof body === 'string' ? body : undefined)
    })
}
