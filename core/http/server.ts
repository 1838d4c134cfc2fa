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

/** What a client may cost before it has said anything sensible. Times in milliseconds, sizes in bytes. */
export interface ServerLimits {
  /** Of what is parsed; `checkHeaders` is what refuses. */
  readonly maxHeaderSize: number
  /** From the first byte to the end of the headers. */
  readonly headersTimeout: number
  /** From the first byte to the end of the body. */
  readonly requestTimeout: number
  readonly keepAliveTimeout: number
  /** A connection on which nothing moves, while an answer is awaited too. */
  readonly idleTimeout: number
  readonly maxConnections: number
  /** Requests of one connection in one turn of the event loop. */
  readonly maxPipelined: number
  /** How often the timeouts are looked at. */
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

/** A certificate with its chain, and its key: PEM. */
export interface Tls {
  readonly cert: string
  readonly key: string
}

export interface ListenOptions {
  /** An address, a name, or the path of a unix socket: it begins with `/` or `./`. */
  readonly host: string
  /** 0: any free port. Means nothing to a unix socket. */
  readonly port: number
  /** PEM. Absent: plain HTTP. */
  readonly tls?: Tls | undefined
  /**
   * Asks each client for a certificate, and lets every one in: who it is of is for the endpoints to find out. Called once for
   * each connection, before and after its handshake: it is closed when the answer is false.
   */
  readonly clientCertificates?: Pick<ConnectionCertificates, 'admit' | 'accept'>
  readonly limits?: Partial<ServerLimits>
  /** This process alone listens there, although it is one of several workers. */
  readonly exclusive?: boolean
  readonly log: Log
}

export interface Listening {
  /** Where it listens, for the operator to read; nothing is derived from it. */
  readonly url: string
  /** 0 on a unix socket. */
  readonly port: number
  /** Has new connections get this certificate (PEM). Throws for a pair that OpenSSL does not take; the one before stays. */
  renew(tls: Tls): void
  /** Goes on, and has each connection end with its next answer: clients that keep them open find another server. */
  drain(): void
  /**
   * Accepts no more, lets what is in flight finish with `Connection: close`, and cuts what has not after `graceMs`.
   */
  close(graceMs: number): Promise<void>
}

/** Those of TLS 1.3, and of TLS 1.2 those that BCP 195 recommends (RFC 9325 §4.2). */
const ciphers = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
].join(':')

const handshake = { minVersion: 'TLSv1.2', ciphers, handshakeTimeout: 10_000 } as const

/**
 * A session that is resumed has lost the chain of the client's certificate, so none is. Nor does a connection change whose
 * it is: TLS 1.2 would let the client renegotiate.
 */
const certificateOptions = {
  requestCert: true,
  rejectUnauthorized: false,
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
} as const

/** What a certificate is used with. */
const secureContext = (clientCertificates: ListenOptions['clientCertificates']) => ({
  minVersion: handshake.minVersion,
  ciphers,
  ...(clientCertificates && { secureOptions: certificateOptions.secureOptions }),
})

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** Opens a listener for `createApp`'s application. Rejects with the system's error, `EADDRINUSE` for instance. */
export const listen = async (app: Listener, options: ListenOptions): Promise<Listening> => {
  const { host, port, tls, log, exclusive = false, clientCertificates } = options
  const limits = { ...defaultLimits, ...options.limits }
  const serverOptions: ServerOptions = {
    maxHeaderSize: limits.maxHeaderSize,
    headersTimeout: limits.headersTimeout,
    requestTimeout: limits.requestTimeout,
    keepAliveTimeout: limits.keepAliveTimeout,
    connectionsCheckingInterval: limits.connectionsCheckingInterval,
    // `checkHeaders` does, after what is below: node:http answers each of thousands in one turn.
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
    // One packet may hold thousands of requests (RFC 9112 §9.3.2), and the loop does not turn until all are read (F27).
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
  // What is expected beside `100-continue` means nothing here (RFC 9110 §10.1.1).
  server.on('checkExpectation', listener)
  server.maxConnections = limits.maxConnections
  // Counted by `checkHeaders`, which refuses: node:http leaves headers out in silence.
  server.maxHeadersCount = 0
  server.timeout = limits.idleTimeout
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => answerBrokenRequest(error, socket as Socket))
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
    if (clientCertificates?.accept(socket as TLSSocket) === false) socket.destroy()
  })
  // Before the listener of node:tls, which begins the handshake.
  if (clientCertificates !== undefined)
    server.prependListener('connection', (socket: Socket) => {
      if (!clientCertificates.admit(socket)) socket.destroy()
    })
  server.on('drop', createDropLog(log))

  const path = host.startsWith('/') || host.startsWith('./') ? host : undefined
  // Of workers the process above them opens it, for all.
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
    // They have promised that their connections stay open. Once they are out these are idle, which `close` knows to close.
    sendNow()
    for (const response of inFlight) response.shouldKeepAlive = false
  }
  const bound = path === undefined ? (server.address() as AddressInfo).port : 0
  return {
    url: path === undefined ? `${tls === undefined ? 'http' : 'https'}://${urlHost(host)}:${bound}` : `unix:${path}`,
    port: bound,
    renew(renewed) {
      // Ciphers and versions stay those of the handshake.
      if (server instanceof TlsServer) server.setSecureContext({ ...renewed, ...secureContext(clientCertificates) })
    },
    drain,
    close: (graceMs) => {
      drain()
      return closeServer(server, unused, graceMs)
    },
  }
}

/** Logs one at once, and those that follow within a second in one line: a flood of connections is not a flood of lines. */
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

/** For a request that is on its way over a connection that was just made. */
const unusedGraceMs = 500

const closeServer = (server: Server, unused: ReadonlySet<Socket>, graceMs: number): Promise<void> =>
  new Promise((resolve) => {
    const timers = [
      // Node counts a connection that has never carried a request among the busy ones.
      setTimeout(() => unused.forEach((socket) => socket.destroy()), Math.min(unusedGraceMs, graceMs)),
      setTimeout(() => server.closeAllConnections(), graceMs),
    ]
    // Closes connections between two requests, too.
    server.close(() => {
      timers.forEach(clearTimeout)
      resolve()
    })
  })

const noHttpFollows = 2

/**
 * Closes the connection. What was read of it already is parsed nevertheless, 15 µs for each request; so the parser learns it,
 * in the words of node:http's own listener for upgrades, that no HTTP follows.
 */
const refuseRest = (socket: Socket): void => {
  const { parser } = socket as { parser?: { onIncoming?: unknown } | null }
  if (typeof parser?.onIncoming === 'function') parser.onIncoming = () => noHttpFollows
  socket.destroy()
}

const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** Removes what a killed process left behind; a socket that somebody answers on, or a file, stays. */
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
