import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../../core/clock.js'
import { openRedis } from '../../../../stores/redis/open-redis.js'
import type { EphemeralBackend } from '../../../../core/storage/ports.js'
import { startRedis } from './server.js'
import { settleRedis } from './settle.js'

/** A Redis with a prefix that is this test's alone. */
export interface TestRedis extends AsyncDisposable {
  readonly uri: string
  readonly host: string
  readonly port: number
  readonly prefix: string
  /** The same server through another port of loopback, such as that of a proxy. */
  uriThrough(port: number): string
  open(clock: Clock): Promise<EphemeralBackend>
}

/**
 * The server that `REDIS_URI` names, or one of its own; in an epoch that began an hour ago, so that nothing is refused for
 * what may have been before.
 */
export const startTestRedis = async (): Promise<TestRedis> => {
  const real = process.env['REDIS_URI']
  const server = real === undefined ? await startRedis() : undefined
  const uri = real ?? (server as NonNullable<typeof server>).uri()
  const { hostname: host, port } = new URL(uri)
  const prefix = `signet-test-${randomBytes(6).toString('hex')}:`
  const open = (clock: Clock) => openRedis({ uri, key_prefix: prefix, clock })
  await settleRedis({ uri, key_prefix: prefix })
  return {
    uri,
    host,
    port: Number(port || 6379),
    prefix,
    uriThrough: (through) => {
      const other = new URL(uri)
      other.hostname = '127.0.0.1'
      other.port = String(through)
      return other.href
    },
    open,
    [Symbol.asyncDispose]: async () => server?.[Symbol.asyncDispose](),
  }
}
