import { createHash, X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { ClientCertificate } from '../certificates/client-certificate.js'
import { OAuthError } from '../oauth/errors.js'
import { RecentMap } from '../recent-map.js'
import { parseCertificateHeader, type CertificateFormat } from './certificate-header.js'
import { createTrustedProxies, peerOf } from './trusted-proxies.js'

/** Reads the certificate of whoever sent a request. Throws `invalid_request` for a header that does not parse. */
export type CertificateReader = (request: IncomingMessage) => ClientCertificate | undefined

const certificateOf = (raw: Buffer, chain: readonly Buffer[]): ClientCertificate => ({
  raw,
  chain,
  thumbprint: createHash('sha256').update(raw).digest('base64url'),
})

/** The certificates of the connection: the handshake has proved that the client has the key, and nothing else. */
export const createConnectionCertificates = (): CertificateReader => {
  const known = new WeakMap<Socket, ClientCertificate>()
  return ({ socket }) => {
    const before = known.get(socket)
    if (before !== undefined) return before
    const peer = (socket as Partial<TLSSocket>).getPeerX509Certificate?.()
    if (peer === undefined) return undefined
    const certificate = certificateOf(peer.raw, [...issuersOf(peer)])
    known.set(socket, certificate)
    return certificate
  }
}

/** A root is its own issuer. */
function* issuersOf(certificate: X509Certificate): Generator<Buffer> {
  for (let above = certificate.issuerCertificate; above !== undefined; above = above.issuerCertificate) {
    yield above.raw
    if (above.issuerCertificate?.raw.equals(above.raw)) return
  }
}

export interface CertificateHeaderOptions {
  /** In small letters. */
  readonly name: string
  readonly format: CertificateFormat
  readonly trustedProxies: readonly string[]
  /** Called when the header came from anybody else, and was ignored. */
  readonly ignored: () => void
}

/** Two to six KiB each. */
const maxKnown = 1000

const malformed = (): OAuthError =>
  new OAuthError('invalid_request', 'The client certificate cannot be read.', {
    reason: 'the header of the proxy holds no certificate',
  })

/** What cannot be parsed, or is followed by something, is no certificate. */
const isCertificate = (der: Buffer): boolean => {
  try {
    return new X509Certificate(der).raw.equals(der)
  } catch {
    return false
  }
}

/** The certificates that a trusted proxy hands on in a header. */
export const createHeaderCertificates = (options: CertificateHeaderOptions): CertificateReader => {
  const { name, format, ignored } = options
  const chainName = format === 'rfc9440' ? `${name}-chain` : undefined
  const isTrusted = createTrustedProxies(options.trustedProxies)
  const known = new RecentMap<string, ClientCertificate>(maxKnown)

  const read = (text: string, chain: string | undefined): ClientCertificate | undefined => {
    const certificates = parseCertificateHeader(format, text, chain)
    if (certificates === undefined || !certificates.every(isCertificate)) throw malformed()
    const [own, ...above] = certificates
    return own && certificateOf(own, above)
  }

  return (request) => {
    const text = request.headers[name]
    if (typeof text !== 'string') return undefined
    if (!isTrusted(peerOf(request))) {
      ignored()
      return undefined
    }
    // node:http joins two headers of a name by a comma, which is how one proxy writes a chain.
    if (isRepeated(request, name)) throw malformed()
    const chain = chainName === undefined ? undefined : (request.headers[chainName] as string | undefined)
    const key = chain === undefined ? text : `${text},${chain}`
    const before = known.get(key)
    if (before !== undefined) return before
    const certificate = read(text, chain)
    if (certificate !== undefined) known.set(key, certificate)
    return certificate
  }
}

const isRepeated = ({ rawHeaders }: IncomingMessage, name: string): boolean => {
  let found = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] as string
    if (header.length === name.length && header.toLowerCase() === name) found++
  }
  return found > 1
}
