import { Cluster, Redis } from 'ioredis'
import type { RedisOptions } from './options.js'

/** Milliseconds for one answer. */
export const commandTimeout = 600
const connectTimeout = 1_000
/** Milliseconds of silence after which a connection is given up. */
const socketTimeout = 1_000
const longestPause = 1_000

/** Milliseconds to the next attempt: short, then longer, and randomised across processes. */
const pause = (attempt: number): number =>
  Math.min(50 * 2 ** Math.min(attempt, 5), longestPause) * (0.5 + Math.random() / 2)

const addressOf = (node: string): { readonly host: string; readonly port: number } => {
  const { hostname, port } = new URL(`redis://${node}`)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }
}

/** `host:port`, the only part of the URI that may be shown. */
export const placeOf = ({ uri, sentinel }: RedisOptions): string => {
  const { hostname, port } = new URL(uri)
  return `${hostname}:${port || (sentinel === undefined ? '6379' : '26379')}`
}

/** The database number. A cluster only has 0. */
export const databaseOf = ({ uri, cluster }: RedisOptions): number =>
  cluster === undefined ? Number(new URL(uri).pathname.slice(1)) : 0

/** A client that keeps reconnecting, and never sends a command twice or later than requested. Not connected yet. */
export const createClient = (options: RedisOptions): Redis | Cluster => {
  const { protocol, username, password } = new URL(options.uri)
  const tls = protocol === 'rediss:' ? { ...(options.ca !== undefined && { ca: options.ca }) } : undefined
  const first = addressOf(placeOf(options))
  const common = {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(tls && { tls }),
    commandTimeout,
    connectTimeout,
    socketTimeout,
    // A server that hangs does not help to end a connection.
    disconnectTimeout: 100,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // Our own check asks what is needed, because the account may not be allowed to use INFO.
    enableReadyCheck: false,
    disableClientInfo: true,
    protocol: 2 as const,
    // When a primary has become a replica, its successor is found by reconnecting.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  }
  if (options.cluster !== undefined) {
    return new Cluster([first, ...options.cluster.nodes.map(addressOf)], {
      redisOptions: common,
      lazyConnect: true,
      enableOfflineQueue: false,
      enableReadyCheck: true,
      maxRedirections: 3,
      retryDelayOnFailover: 50,
      retryDelayOnClusterDown: 50,
      retryDelayOnTryAgain: 50,
      slotsRefreshTimeout: connectTimeout,
      slotsRefreshInterval: 5_000,
      clusterRetryStrategy: pause,
      clusterNodeRetryStrategy: pause,
    })
  }
  const single = {
    ...common,
    db: databaseOf(options),
    lazyConnect: true,
    enableOfflineQueue: false,
    retryStrategy: pause,
  }
  if (options.sentinel === undefined) return new Redis({ ...single, ...first })
  const { name, nodes, username: sentinelUsername, password: sentinelPassword } = options.sentinel
  return new Redis({
    ...single,
    name,
    sentinels: [first, ...nodes.map(addressOf)],
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    sentinelRetryStrategy: pause,
    sentinelReconnectStrategy: pause,
    sentinelCommandTimeout: commandTimeout,
    failoverDetector: true,
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
  })
}
