import { connect } from 'node:net'

/** An attack that needs its own connection: opens one, sends, and ends when the service has closed it. */
export interface HostileConnection {
  readonly name: string
  readonly attack: (port: number) => Promise<void>
}

/** Sends everything at once. Resolves when the connection is closed for any reason. */
const sendAll = (port: number, bytes: Buffer): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
    socket.resume()
    socket.write(bytes)
  })

const last = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
const pipelined = (request: string, bytes: number): Buffer =>
  Buffer.from(request.repeat(Math.floor(bytes / request.length)) + last, 'latin1')

const tokenBody = 'grant_type=client_credentials&client_id=a&client_secret=b'
const token =
  `POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
  `Content-Length: ${String(tokenBody.length)}\r\n\r\n${tokenBody}`
const chunks = 'POST /token HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'

const burst = 256 * 1024

export const hostileConnections: readonly HostileConnection[] = [
  [
    '256 KiB of requests on one connection, from memory',
    pipelined('GET /jwks.json HTTP/1.1\r\nHost: x\r\n\r\n', burst),
  ],
  ['256 KiB of requests on one connection, nothing there', pipelined('GET /x HTTP/1.1\r\nHost: x\r\n\r\n', burst)],
  ['256 KiB of requests on one connection, /token', pipelined(token, burst)],
  ['a body in chunks of one byte', Buffer.from(chunks + '1\r\na\r\n'.repeat(burst / 6), 'latin1')],
  ['what is no HTTP', Buffer.alloc(burst, '\r\n\0GET')],
].map(([name, bytes]) => ({
  name: String(name),
  attack: (port) => sendAll(port, bytes as Buffer),
}))
