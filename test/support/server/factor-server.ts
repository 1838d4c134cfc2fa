import type { Log } from '../../../core/observe/log.js'
import { startServer, type TestServer } from './server.js'

type Json = Record<string, unknown>

export interface FactorServer extends TestServer {
  /** Moves the clock of the server on; else it stands still. */
  later(milliseconds: number): void
  now(): number
  /** Everything that was logged, as JSON. */
  logged(): string
}

/** A server with the ceremony and these plugins, without limits that a test would run into. */
export const startFactorServer = async (
  plugins: readonly Json[],
  configure: (written: Json) => Json = (written) => written,
): Promise<FactorServer> => {
  let now = Date.now()
  const clock = (): number => now
  const lines: string[] = []
  const keep = (...entry: unknown[]): void => void lines.push(JSON.stringify(entry, showErrors))
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep }
  const server = await startServer({
    clock,
    log,
    configure: (written) =>
      configure({
        ...written,
        attestation: {},
        trusted_proxies: ['127.0.0.1/32'],
        plugins: [...(written['plugins'] as Json[]), ...plugins],
        rate_limits: { attestation: generous },
      }),
  })
  return Object.assign(server, {
    later: (milliseconds: number) => void (now += milliseconds),
    now: clock,
    logged: () => lines.join('\n'),
  })
}

const generous = {
  ...{ address_per_minute: 100_000, key_per_minute: 100_000, subject_per_minute: 100_000 },
  principal_free: 1000,
}

const showErrors = (_name: string, value: unknown): unknown =>
  value instanceof Error ? { stack: value.stack, cause: value.cause } : value
