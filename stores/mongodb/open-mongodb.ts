import { MongoClient, ReadConcern, type MongoClientOptions } from 'mongodb'
import { BadOption, Unavailable, until, type Clock, type StorageBackend } from '../../core/api/storage.js'
import { createCounterStore } from './counter-store.js'
import { createDeviceCodeStore } from './device-code-store.js'
import { isDuplicate } from './failure.js'
import { answerMs, createGateway, type Gateway } from './gateway.js'
import { describeServer, findWarnings } from './deployment.js'
import { schema } from './document.js'
import { buildMs, createSchema } from './indexes.js'
import { createOneTimeStore } from './one-time-store.js'
import { createRecordStore } from './record-store.js'
import { createRefreshFamilyStore } from './refresh-family-store.js'
import { createReplayGuard } from './replay-guard.js'
import { createRevocationStore } from './revocation-store.js'

/** `storage.*.options` where `use` is `mongodb`. `index.ts` defines the accepted values. */
export interface MongodbSettings {
  /** Connection string with TLS, replica set and credentials. The settings below override it. */
  readonly uri: string
  readonly database: string
  /** Connections from this process to each server. */
  readonly max_pool_size?: number
  /** MiB for short-lived records. */
  readonly max_size_mb?: number
  readonly clock: Clock
  /** Its name in `Unavailable`: `storage.records`. */
  readonly component?: string
  /** Multiplies all time limits; default 1. For tests on a busy machine. */
  readonly timeoutFactor?: number
}

/** The driver's own limits are half a minute or none. All of these are below the gateway's limit for one answer. */
const deadlines = {
  serverSelectionTimeoutMS: 500,
  waitQueueTimeoutMS: 500,
  socketTimeoutMS: 750,
  connectTimeoutMS: 1_000,
} as const

const intervals = {
  heartbeatFrequencyMS: 2_000,
  // With the driver's half second, a call after a broken connection uses up its time although the server is back.
  minHeartbeatFrequencyMS: 100,
} as const

/** Set on the database, because the client merges its own settings with the connection string's. */
const durability = {
  readPreference: 'primary',
  readConcern: new ReadConcern('local'),
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: 600 },
} as const

/** For operations that an operator waits for: an index on a large collection takes time. */
const building = { maxPoolSize: 1, socketTimeoutMS: buildMs } as const
const patientDurability = { ...durability, writeConcern: { w: 'majority', journal: true } } as const

/** The driver's message about a connection string, unless it repeats what may be the password. */
const explain = (uri: string, error: unknown): string => {
  const message = error instanceof Error ? error.message : ''
  const credentials = uri.includes('@') ? uri.slice(uri.indexOf('//') + 2, uri.lastIndexOf('@')) : ''
  const repeats = credentials.split(/[:@/?]/).some((part) => part !== '' && message.includes(part))
  return message === '' || repeats ? 'are the user name and the password percent-encoded?' : message
}

const createClient = (uri: string, timeoutFactor: number, options: MongoClientOptions): MongoClient => {
  const timeouts = Object.fromEntries(Object.entries(deadlines).map(([name, ms]) => [name, ms * timeoutFactor]))
  try {
    return new MongoClient(uri, { appName: 'signet', maxConnecting: 8, ...timeouts, ...intervals, ...options })
  } catch (error) {
    // The cause is dropped: causes are logged, and it may repeat the password.
    throw new BadOption('uri', `not a connection string of MongoDB: ${explain(uri, error)}`)
  }
}

const checkName = (name: string): string => {
  if (!/^[a-z_]+$/.test(name)) throw new Error(`Not a name of a collection: ${name}`)
  return name
}

/** Pings by writing, because a read-only server does not work; this also detects a full disk and a missing majority. */
const ping = ({ collection, call, component, now }: Gateway, signal: AbortSignal): Promise<void> => {
  const write = () =>
    collection('health').updateOne({ _id: 'ping' }, { $set: { v: schema, at: new Date(now()) } }, { upsert: true })
  const answer = async (): Promise<void> => {
    try {
      await call('write', write)
    } catch (error) {
      // Another process created it first.
      if (!isDuplicate(error)) throw error
    }
  }
  return until(signal, answer, () => new Unavailable(component, 'unknown', 'no answer in time'))
}

/**
 * A MongoDB database, for any number of hosts. It connects at the first call and reconnects as needed. Once a method
 * has resolved, nothing is lost while a majority of the replica set lives. Throws `BadOption` for an invalid URI.
 */
export const openMongodb = async (settings: MongodbSettings): Promise<StorageBackend> => {
  const {
    uri,
    database,
    max_pool_size = 50,
    max_size_mb = 1024,
    clock,
    component = 'storage.mongodb',
    timeoutFactor = 1,
  } = settings
  const client = createClient(uri, timeoutFactor, { maxPoolSize: max_pool_size })
  const gateway = createGateway({
    db: client.db(database, durability),
    clock,
    component,
    deadlineMs: answerMs * timeoutFactor,
  })
  const collections = new Set<string>()
  const known = (name: string): string => {
    collections.add(checkName(name))
    return name
  }
  let disposed: Promise<void> | undefined

  const dispose = async () => {
    await gateway.close()
    await client.close()
  }

  return {
    oneTime: <T>(name: string) => createOneTimeStore<T>(gateway, known(name)),
    records: <T>(name: string) => createRecordStore<T>(gateway, known(name)),
    refreshFamilies: <T>(name: string) => createRefreshFamilyStore<T>(gateway, known(name)),
    replayGuard: (name) => createReplayGuard(gateway, known(name)),
    revocations: (name) => createRevocationStore(gateway, known(name)),
    counters: (name) => createCounterStore(gateway, known(name)),
    deviceCodes: <Request, Approval>(name: string) => createDeviceCodeStore<Request, Approval>(gateway, known(name)),
    room: {
      capacity: () => max_size_mb * 1024 * 1024,
      // A document with its envelope, its id twice and its time in the indexes. It is compressed on disk but not in
      // the cache.
      footprint: (idBytes, recordBytes) => 300 + 3 * idBytes + 1.2 * recordBytes,
    },
    ping: (signal) => ping(gateway, signal),
    schema: createSchema(gateway, collections, () =>
      createClient(uri, timeoutFactor, building).db(database, patientDurability),
    ),
    describe: () => describeServer(gateway),
    warnings: () => findWarnings(gateway),
    [Symbol.asyncDispose]: () => (disposed ??= dispose()),
  }
}
