import { Agent, request } from 'node:https'
import { Readable } from 'node:stream'
import type { Fetch } from './fetch-text.js'

/** A client certificate (RFC 8705), all of it PEM. */
export interface CertificateIdentity {
  /** With the intermediates below it, if there are any. */
  readonly cert: string
  readonly key: string
  /** Whom to trust as the server's authority, if not those that Node trusts. */
  readonly ca?: string
}

/** `fetch` over connections with a certificate of the client, which that of the platform cannot be given. */
export const createCertificateFetch = (identity: CertificateIdentity): Fetch => {
  const agent = new Agent({ ...identity, keepAlive: true })
  return (url, { method = 'GET', headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const options = { agent, method, headers: Object.fromEntries(new Headers(headers)), ...(signal && { signal }) }
      const sent = request(url, options, (response) => {
        const { statusCode: status = 0 } = response
        // A `Response` of these statuses may not have a body.
        const content = status === 204 || status === 304 ? null : (Readable.toWeb(response) as ReadableStream)
        resolve(new Response(content, { status }))
      })
      sent.on('error', reject)
      sent.end(typeof body === 'string' ? body : undefined)
    })
}
