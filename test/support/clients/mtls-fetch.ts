import { request } from 'node:https'
import type { IssuedCertificate } from '../forge/certificates.js'
import { testCertificate } from '../server/certificate.js'

export interface ClientIdentity {
  readonly certificate?: IssuedCertificate
  /** What is sent above it. */
  readonly chain?: readonly IssuedCertificate[]
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3'
  readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3'
}

/** `fetch` over a TLS connection of its own, with the certificate of a client: node's own `fetch` cannot be given one. */
export const mtlsFetch =
  ({ certificate, chain = [], ...versions }: ClientIdentity = {}) =>
  (input: string | URL | Request, init: RequestInit = {}): Promise<Response> =>
    new Promise((resolve, reject) => {
      const url = input instanceof Request ? input.url : input
      const headers = Object.fromEntries(new Headers(init.headers))
      const body = init.body === undefined || init.body === null ? undefined : String(init.body as string)
      const identity = certificate && {
        cert: [certificate, ...chain].map(({ pem }) => pem).join(''),
        key: certificate.keyPem,
      }
      const sent = request(
        url,
        {
          method: init.method ?? 'GET',
          headers: {
            ...(init.body instanceof URLSearchParams && { 'content-type': 'application/x-www-form-urlencoded' }),
            ...headers,
            ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
          },
          ...identity,
          ...versions,
          ca: testCertificate.cert,
          agent: false,
        },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('end', () => {
            const fields = Object.entries(response.headers).flatMap(([name, value]) =>
              [value ?? []].flat().map((one): [string, string] => [name, one]),
            )
            const { statusCode: status = 0 } = response
            const content = status === 204 || status === 304 ? null : Buffer.concat(chunks)
            resolve(new Response(content, { status, headers: fields }))
          })
          response.on('error', reject)
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
