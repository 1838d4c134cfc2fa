import { createHash, X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { hasAcceptedKey } from '../certificates/certificate-keys.js'
import type { ClientCertificate } from '../certificates/client-certificate.js'
import type { Clock } from '../clock.js'
import { OAuthError } from '../oauth/errors.js'
import { RecentMap } from '../recent-map.js'
import { maxCertificates, parseCertificateHeader, type CertificateFormat } from './certificate-header.js'
import { createHandshakes } from './handshakes.js'
import { createTrustedProxies, peerOf } from './trusted-proxies.js'

/** Reads the certificate of the sender of a request. Throws `invalid_request` for a header that does not parse. */
export type CertificateReader = (request: IncomingMessage) => ClientCertificate | undefined

const certificateOf = (raw: Buffer, chain: readonly Buffer[]): ClientCertificate => ({
  raw,
  chain,
  thumbprint: createHash('sha256').update(raw).digest('base64url'),
})

export interface ConnectionCertificates {
  /**
   * Called for a connection that was just made. Returns false when its address has had too many costly handshakes in
   * this minute.
   */
  admit(socket: Socket): boolean
  /**
   * Called after the handshake of a connection. Returns false when the client sent more certificates than a header
   * may hold.
   */
  accept(socket: TLSSocket): boolean
  readonly read: CertificateReader
}

/** The certificates of the connection. The handshake has proved that the client has the key, and nothing else. */
export const createConnectionCertificates = (clock: Clock): ConnectionCertificates => {
  const known = new WeakMap<Socket, ClientCertificate>()
  const handshakes = createHandshakes(clock)
  return {
    admit: (socket) => handshakes.admit(socket),
    accept(socket) {
      const peer = socket.getPeerX509Certificate()
      const chain = peer === undefined ? [] : issuersOf(peer)
      // OpenSSL accepts 100 KiB of certificates, and the connection holds ten times as much memory for as long as it
      // is open.
      const isTooLong = chain.length >= maxCertificates
      handshakes.finish(socket, isTooLong || !chain.every(hasAcceptedKey))
      if (isTooLong) return false
      if (peer !== undefined)
        known.set(
          socket,
          certificateOf(
            peer.raw,
            chain.map(({ raw }) => raw),
          ),
        )
      return true
    },
    read: ({ socket }) => known.get(socket),
  }
}

/** The issuers follow in the order in which the client sent them, up to the number that is worth counting. */
const issuersOf = ({ issuerCertificate }: X509Certificate): readonly X509Certificate[] => {
  const chain: X509Certificate[] = []
  for (let above = issuerCertificate; above !== undefined; above = above.issuerCertificate) {
    if (chain.push(above) === maxCertificates) break
  }
  return chain
}

export interface CertificateHeaderOptions {
  /** The name of the header in lower case. */
  readonly name: string
  readonly format: CertificateFormat
  readonly trustedProxies: readonly string[]
  /** This is called when the header came from another peer and was ignored. */
  readonly ignored: () => void
}

/** Each entry takes two to six KiB. */
const maxKnown = 1000

const malformed = (): OAuthError =>
  new OAuthError('invalid_request', 'The client certificate cannot be read.', {
    reason: 'the header of the proxy holds no certificate',
  })

/** Bytes that cannot be parsed, or that are followed by others, are not a certificate. */
const isCertificate = (der: Buffer): boolean => {
  try {
    return new X509Certificate(der).raw.equals(der)
  } catch {
    return false
  }
}

/** Reads the certificates that a trusted proxy passes on in a header. */
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
    // node:http joins two headers of the same name by a comma, which is also how one proxy writes a chain.
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
