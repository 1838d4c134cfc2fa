import cluster from 'node:cluster'
import { constants } from 'node:crypto'
import { chmod, lstat, unlink } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Log } from '../observe/log.js'
import { answerBrokenRequest } from './broken-request.js'
import type { ConnectionCertificates } from './client-certificate.js'
import { sendNow } from './send-together.js'

/** Limits the cost of a client that has not yet sent a valid request. Times are in milliseconds and sizes in bytes. */
export interface ServerLimits {
  /** The limit of what is parsed. `checkHeaders` refuses what is too long. */
  readonly maxHeaderSize: number
  /** The time from the first byte to the end of the headers. */
  readonly headersTimeout: number
  /** The time from the first byte to the end of the body. */
  readonly requestTimeout: number
  readonly keepAliveTimeout: number
  /** The time after which a silent connection is closed, even while an answer is awaited. */
  readonly idleTimeout: number
  readonly maxConnections: number
  /** The maximum number of requests that one connection may send in one turn of the event loop. */
  readonly maxPipelined: number
  /** The interval at which the timeouts are checked. */
  readonly connectionsCheckingInterval: number
}

export const defaultLimits: ServerLimits = {
  maxHeaderSize: 32 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  keepAliveTimeout: 65_000,
  idleTimeout: 30_000,
  maxConnections: 10_000,
  maxPipelined: 10,
  connectionsCheckingInterval: 1_000,
}

/** A certificate with its chain, and its key, in PEM. */
export interface Tls {
  readonly cert: string
  readonly key: string
}

export interface ListenOptions {
  /** An address, a name, or the path of a unix socket, which begins with `/` or `./`. */
  readonly host: string
  /** The value 0 means any free port. A unix socket ignores it. */
  readonly port: number
  /** The pair in PEM. If it is absent, the listener uses plain HTTP. */
  readonly tls?: Tls | undefined
  /**
   * Asks each client for a certificate, and admits every client: endpoints find out whose certificate it is. It is
   * called for each connection, once before and once after its handshake, and the connection is closed when the
   * answer is false.
   */
  readonly clientCertificates?: Pick<ConnectionCertificates, 'admit' | 'accept'>
  readonly limits?: Partial<ServerLimits>
  /** True when this process alone listens there, although it is one of several workers. */
  readonly exclusive?: boolean
  readonly log: Log
}

export interface Listening {
  /** Where the server listens, for the operator to read. Nothing is derived from it. */
  readonly url: string
  /** The port, which is 0 on a unix socket. */
  readonly port: number
  /**
   * Uses this certificate (PEM) for new connections. Throws for a pair that OpenSSL does not accept; the previous one
   * then stays.
   */
  renew(tls: Tls): void
  /**
   * Keeps serving, but ends each connection with its next answer, so that clients with open connections find another
   * server.
   */
  drain(): void
  /**
   * Accepts no more connections, lets requests in flight finish with `Connection: close`, and cuts those that have
   * not finished after `graceMs`.
   */
  close(graceMs: number): Promise<void>
}

/** The ciphers of TLS 1.3, and those of TLS 1.2 that BCP 195 recommends (RFC 9325 §4.2). */
const ciphers = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
].join(':')

const handshake = { minVersion: 'TLSv1.2', ciphers, handshakeTimeout: 10_000 } as const

/**
 * A resumed session has lost the chain of the client's certificate, so sessions are not resumed. A connection never
 * changes its owner either: TLS 1.2 would let the client renegotiate.
 */
const certificateOptions = {
  requestCert: true,
  rejectUnauthorized: false,
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
} as const

/** The TLS settings that go with a certificate. */
const secureContext = (clientCertificates: ListenOptions['clientCertificates']) => ({
  minVersion: handshake.minVersion,
  ciphers,
  ...(clientCertificates && { secureOptions: certificateOptions.secureOptions }),
})

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** Opens a listener for `createApp`'s application. Rejects with the system's error, for instance `EADDRINUSE`. */
export const listen = async (app: Listener, options: ListenOptions): Promise<Listening> => {
  const { host, port, tls, log, exclusive = false, clientCertificates } = options
  const limits = { ...defaultLimits, ...options.limits }
  const serverOptions: ServerOptions = {
    maxHeaderSize: limits.maxHeaderSize,
    headersTimeout: limits.headersTimeout,
    requestTimeout: limits.requestTimeout,
    keepAliveTimeout: limits.keepAliveTimeout,
    connectionsCheckingInterval: limits.connectionsCheckingInterval,
    // `checkHeaders` makes this check, after the limit below: node:http would answer each of thousands of requests in
    // one turn.
    requireHostHeader: false,
    noDelay: true,
  }
  const inFlight = new Set<ServerResponse>()
  const thisTurn = new Map<Socket, number>()
  const unused = new Set<Socket>()
  let stopping = false
  const listener: Listener = (request, response) => {
    const { socket } = request
    unused.delete(socket)
    const before = thisTurn.get(socket) ?? 0
    // One packet may hold thousands of requests (RFC 9112 §9.3.2), and the loop does not turn until all of them are
    // read (F27).
    if (before === limits.maxPipelined) {
      refuseRest(socket)
      return
    }
    if (thisTurn.size === 0) setImmediate(() => thisTurn.clear())
    thisTurn.set(socket, before + 1)
    if (stopping) response.shouldKeepAlive = false
    inFlight.add(response)
    response.on('close', () => inFlight.delete(response))
    app(request, response)
  }
  const server: Server =
    tls === undefined
      ? createServer(serverOptions, listener)
      : createTlsServer(
          { ...serverOptions, ...tls, ...(clientCertificates && certificateOptions), ...handshake },
          listener,
        )
  // Expectations other than `100-continue` are ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', listener)
  server.maxConnections = limits.maxConnections
  // `checkHeaders` counts the headers and refuses too many: node:http would silently drop some.
  server.maxHeadersCount = 0
  server.timeout = limits.idleTimeout
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => answerBrokenRequest(error, socket as Socket))
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
    if (clientCertificates?.accept(socket as TLSSocket) === false) socket.destroy()
  })
  // This runs before the listener of node:tls, which begins the handshake.
  if (clientCertificates !== undefined)
    server.prependListener('connection', (socket: Socket) => {
      if (!clientCertificates.admit(socket)) socket.destroy()
    })
  server.on('drop', createDropLog(log))

  const path = host.startsWith('/') || host.startsWith('./') ? host : undefined
  // With workers, the process above them opens the socket for all of them.
  if (path !== undefined && (exclusive || cluster.isPrimary)) await removeStaleSocket(path)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path === undefined ? { host, port, exclusive } : { path, exclusive }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  if (path !== undefined) await chmod(path, 0o660)
  server.on('error', (error) => log.error('The listener failed', {}, error))

  const drain = (): void => {
    stopping = true
    // The waiting answers have promised that their connections stay open. Once they are sent, these connections are
    // idle, and `close` knows how to close those.
    sendNow()
    for (const response of inFlight) response.shouldKeepAlive = false
  }
  const bound = path === undefined ? (server.address() as AddressInfo).port : 0
  return {
    url: path === undefined ? `${tls === undefined ? 'http' : 'https'}://${urlHost(host)}:${bound}` : `unix:${path}`,
    port: bound,
    renew(renewed) {
      // The ciphers and versions stay those of the handshake.
      if (server instanceof TlsServer) server.setSecureContext({ ...renewed, ...secureContext(clientCertificates) })
    },
    drain,
    close: (graceMs) => {
      drain()
      return closeServer(server, unused, graceMs)
    },
  }
}

/**
 * Logs the first drop at once, and those that follow within a second in one line, so that a flood of connections does
 * not become a flood of lines.
 */
const createDropLog = (log: Log): (() => void) => {
  let others: number | undefined
  return () => {
    if (others !== undefined) return void others++
    others = 0
    log.warn('A connection was refused: too many are open')
    setTimeout(() => {
      if (others) log.warn('More connections were refused', { count: others })
      others = undefined
    }, 1000).unref()
  }
}

/** This leaves time for a request that is on its way over a new connection. */
const unusedGraceMs = 500

const closeServer = (server: Server, unused: ReadonlySet<Socket>, graceMs: number): Promise<void> =>
  new Promise((resolve) => {
    const timers = [
      // Node counts a connection that has never carried a request among the busy ones.
      setTimeout(() => unused.forEach((socket) => socket.destroy()), Math.min(unusedGraceMs, graceMs)),
      setTimeout(() => server.closeAllConnections(), graceMs),
    ]
    // This also closes connections that are between two requests.
    server.close(() => {
      timers.forEach(clearTimeout)
      resolve()
    })
  })

const noHttpFollows = 2

/**
 * Closes the connection. What was already read would still be parsed, at 15 µs for each request, so the parser learns
 * that no HTTP follows, in the same way as from node:http's own listener for upgrades.
 */
const refuseRest = (socket: Socket): void => {
  const { parser } = socket as { parser?: { onIncoming?: unknown } | null }
  if (typeof parser?.onIncoming === 'function') parser.onIncoming = () => noHttpFollows
  socket.destroy()
}

const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** Removes a socket that a killed process left behind. A socket on which a server answers stays, and so does a file. */
export const removeStaleSocket = async (path: string): Promise<void> => {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isSocket() !== true) return
  const answered = await new Promise<boolean>((resolve) => {
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
  })
  if (!answered) await unlink(path)
}
