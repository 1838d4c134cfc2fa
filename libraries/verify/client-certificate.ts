import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

const thumbprints = new WeakMap<Socket, string>()

export const certificateThumbprint = (der: Uint8Array): string => hash('sha256', der, 'base64url')

/** The thumbprint (RFC 8705 §3.1) of the client certificate of this connection, or undefined if there is none. */
export const connectionThumbprint = (request: IncomingMessage | Request): string | undefined => {
  if (!('socket' in request)) return undefined
  const socket = request.socket as Socket & Partial<Pick<TLSSocket, 'getPeerX509Certificate'>>
  const known = thumbprints.get(socket)
  if (known !== undefined) return known
  const der = socket.getPeerX509Certificate?.()?.raw
  if (!der) return undefined
  const thumbprint = certificateThumbprint(der)
  thumbprints.set(socket, thumbprint)
  return thumbprint
}
