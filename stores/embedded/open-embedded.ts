import type { z } from 'zod'
import { atMost, Unavailable, until, type Clock, type StorageBackend } from '../../core/api/storage.js'
import { startCollector } from './collector.js'
import { createCounterStore } from './counter-store.js'
import { createDeviceCodeStore } from './device-code-store.js'
import { acquireEnvironment } from './environment.js'
import { envelope } from './envelope.js'
import { unavailable } from './failure.js'
import { exitInSpiteOf } from './hanging.js'
import { createOneTimeStore } from './one-time-store.js'
import { embeddedOptions } from './options.js'
import { createRecordStore } from './record-store.js'
import { createRefreshFamilyStore } from './refresh-family-store.js'
import { createReplayGuard } from './replay-guard.js'
import { createRevocationStore } from './revocation-store.js'
import { createTable } from './table.js'

export interface EmbeddedSettings extends z.input<typeof embeddedOptions> {
  readonly clock: Clock
  /** Its name in `Unavailable`: `storage.records`. */
  readonly component?: string
}

// No collection name starts with NUL, so this key never collides with a record.
const pingKey = Buffer.from('\0ping')

/** Milliseconds for closing, which never ends when LMDB hangs. Nothing that was reported as done depends on it. */
const closingMs = 2_000

const pageBytes = 4096

/**
 * Measured with entries in random order on pages of 4 KiB: a page is two thirds full, the key is in both trees, two
 * entries of half a page share none, and a larger one has its own pages.
 */
const footprint = (idBytes: number, recordBytes: number): number => {
  const entry = 220 + 4 * idBytes
  if (recordBytes <= 600) return entry + 1.7 * recordBytes
  if (recordBytes <= 1800) return entry + 2700
  return entry + pageBytes * Math.ceil((recordBytes + 120) / pageBytes)
}

const checkName = (name: string): string => {
  if (!/^[a-z_]+$/.test(name)) throw new Error(`Not a name of a collection: ${name}`)
  return name
}

/**
 * The store of one host: LMDB in a directory, durable, for several processes at once. Once a method has resolved, its
 * effect survives `kill -9` and a power cut. Throws `Unavailable` when the directory cannot be used.
 */
export const openEmbedded = async (settings: EmbeddedSettings): Promise<StorageBackend> => {
  const { clock, component = 'storage.embedded', ...options } = settings
  const { path, max_size_mb } = embeddedOptions.parse(options)
  const maxBytes = max_size_mb * 1024 * 1024
  const environment = await acquireEnvironment(path, maxBytes).catch((error: unknown) => {
    throw unavailable(component, 'no', error)
  })
  const table = createTable(environment, clock, component)
  const stopCollector = startCollector(environment, clock)
  let disposed: Promise<void> | undefined

  const dispose = async () => {
    await table.close()
    const closing = stopCollector().then(() => environment.release())
    exitInSpiteOf(closing)
    await atMost(closingMs, closing)
  }

  return {
    oneTime: <T>(name: string) => createOneTimeStore<T>(table, checkName(name)),
    records: <T>(name: string) => createRecordStore<T>(table, checkName(name)),
    refreshFamilies: <T>(name: string) => createRefreshFamilyStore<T>(table, checkName(name)),
    replayGuard: (name) => createReplayGuard(table, checkName(name), component),
    revocations: (name) => createRevocationStore(table, checkName(name)),
    counters: (name) => createCounterStore(table, checkName(name)),
    deviceCodes: <Request, Approval>(name: string) => createDeviceCodeStore<Request, Approval>(table, checkName(name)),
    room: { capacity: () => maxBytes, footprint },
    // Pings by writing, because a read-only store does not work; this also detects a full disk.
    ping: (signal) =>
      until(
        signal,
        () => table.update(pingKey, (_, now) => ({ result: undefined, write: envelope(now) }), 'essential'),
        () => new Unavailable(component, 'unknown', 'no answer in time'),
      ),
    [Symbol.asyncDispose]: () => (disposed ??= dispose()),
  }
}
