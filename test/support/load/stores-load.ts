import { expect } from 'vitest'
import { startTokenServer, type TokenServer } from '../server/token-server.js'
import { signingClient } from '../clients/signing-client.js'
import { settleRedis } from '../stores/redis/settle.js'
import { auditServer } from './ledger/audit-books.js'
import type { Clock } from '../../../core/clock.js'
import type { StorageBackend } from '../../../core/storage/ports.js'
import type { RedisOptions } from '../../../stores/redis/options.js'
import { noLog } from '../../../core/observe/log.js'
import { createHonestClients, type HonestClients } from './honest-clients.js'

type Json = Record<string, unknown>

export interface StoresLoad extends HonestClients, AsyncDisposable {
  readonly host: TokenServer
  ready(): Promise<boolean>
  metrics(): Promise<string>
  /** Of the ephemeral store in the readiness report. */
  health(): Promise<{ readonly status: string; readonly message?: string }>
  contradictions(): Promise<readonly string[]>
}

export interface StoresLoadOptions {
  /** Of `storage.ephemeral`. */
  readonly options: Omit<RedisOptions, 'key_prefix'>
  /** The epoch of the store began long ago. */
  readonly settled?: boolean
  /** `storage.records`, and the way to it for the preparation; default: embedded. */
  readonly records?: { readonly section: Json; readonly open: (clock: Clock) => Promise<StorageBackend> }
}

/** The running product, records and the rest on stores that fail, under honest clients. */
export const startStoresLoad = async ({ options, settled = true, records }: StoresLoadOptions): Promise<StoresLoad> => {
  if (settled) await settleRedis({ ...options, key_prefix: 'signet:' })
  const host = await startTokenServer({
    log: noLog,
    configure: (written) => ({
      ...written,
      storage: {
        ...(written['storage'] as Json),
        ...(records && { records: records.section }),
        ephemeral: { use: 'redis', options },
      },
      clients: [...(written['clients'] as Json[]), signingClient],
    }),
    ...(records && { openStore: records.open }),
  })
  const clients = createHonestClients(host, records !== undefined)
  const report = () => fetch(`${host.server.admin}/health/ready`)

  return {
    ...clients,
    host,
    ready: async () => (await report()).status === 200,
    metrics: async () => (await fetch(`${host.server.admin}/metrics`)).text(),
    health: async () => {
      const { components } = (await (await report()).json()) as {
        readonly components: Readonly<Record<string, { status: string; message?: string }>>
      }
      return components['storage.ephemeral'] ?? { status: 'absent' }
    },
    contradictions: () => auditServer(clients.ledger, host.server),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  }
}

/** Nothing passed twice, honest clients met an outage at worst, and those who need no store met none. */
export const expectNoHarm = async (load: StoresLoad): Promise<void> => {
  expect(await load.replay()).toBe(0)
  expect(load.affronts).toEqual([])
  expect(await load.darkened()).toBe(0)
  expect(await load.contradictions()).toEqual([])
}
