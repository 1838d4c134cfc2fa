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

/** `storage.*.options` where `use` is `mongodb`; `index.ts` says what each may be. */
export interface MongodbSettings {
  /** Connection string; carries TLS, replica set, credentials. What is set here below is stronger. */
  readonly uri: string
  readonly database: string
  /** Connections of this process to each server. */
  readonly max_pool_size?: number
  /** MiB for what is short-lived. */
  readonly max_size_mb?: number
  readonly clock: Clock
  /** What `Unavailable` calls it: `storage.records`. */
  readonly component?: string
  /** How many times as long as in a request everything may take: 1 unless given. For tests on a busy machine. */
  readonly patience?: number
}

/** The driver's own limits are half a minute or none. All are below what the gateway waits for one answer. */
const deadlines = {
  serverSelectionTimeoutMS: 500,
  waitQueueTimeoutMS: 500,
  socketTimeoutMS: 750,
  connectTimeoutMS: 1_000,
} as const

const intervals = {
  heartbeatFrequencyMS: 2_000,
  // With the driver's half second a call after a broken connection waits as long as it may for a server that is back.
  minHeartbeatFrequencyMS: 100,
} as const

/** For the database and not for the client, which mixes its own with what the connection string says. */
const durability = {
  readPreference: 'primary',
  readConcern: new ReadConcern('local'),
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: 600 },
} as const

/** For what the operator asked and waits for: an index of a large collection takes its time. */
const building = { maxPoolSize: 1, socketTimeoutMS: buildMs } as const
const patientDurability = { ...durability, writeConcern: { w: 'majority', journal: true } } as const

/** What the driver says of a connection string, unless it repeats what may be the password. */
const explain = (uri: string, error: unknown): string => {
  const message = error instanceof Error ? error.message : ''
  const credentials = uri.includes('@') ? uri.slice(uri.indexOf('//') + 2, uri.lastIndexOf('@')) : ''
  const repeats = credentials.split(/[:@/?]/).some((part) => part !== '' && message.includes(part))
  return message === '' || repeats ? 'are the user name and the password percent-encoded?' : message
}

const createClient = (uri: string, patience: number, options: MongoClientOptions): MongoClient => {
  const timeouts = Object.fromEntries(Object.entries(deadlines).map(([name, ms]) => [name, ms * patience]))
  try {
    return new MongoClient(uri, { appName: 'signet', maxConnecting: 8, ...timeouts, ...intervals, ...options })
  } catch (error) {
    // Without its cause, which may repeat the password: causes are logged.
    throw new BadOption('uri', `not a connection string of MongoDB: ${explain(uri, error)}`)
  }
}

const checkName = (name: string): string => {
  if (!/^[a-z_]+$/.test(name)) throw new Error(`Not a name of a collection: ${name}`)
  return name
}

/** A write, because a server that only reads does not answer: a full disk and a missing majority show here. */
const ping = ({ collection, call, component, now }: Gateway, signal: AbortSignal): Promise<void> => {
  const write = () =>
    collection('health').updateOne({ _id: 'ping' }, { $set: { v: schema, at: new Date(now()) } }, { upsert: true })
  const answer = async (): Promise<void> => {
    try {
      await call('write', write)
    } catch (error) {
      // Another process was the first to make it.
      if (!isDuplicate(error)) throw error
    }
  }
  return until(signal, answer, () => new Unavailable(component, 'unknown', 'no answer in time'))
}

/**
 * A database of MongoDB, for any number of hosts. Connects when it is first asked, and again whenever it has to. Of what a
 * member resolves, nothing is lost while a majority of the replica set lives. Throws `BadOption` when the URI is none.
 */
export const openMongodb = async (settings: MongodbSettings): Promise<StorageBackend> => {
  const {
    uri,
    database,
    max_pool_size = 50,
    max_size_mb = 1024,
    clock,
    component = 'storage.mongodb',
    patience = 1,
  } = settings
  const client = createClient(uri, patience, { maxPoolSize: max_pool_size })
  const gateway = createGateway({
    db: client.db(database, durability),
    clock,
    component,
    deadlineMs: answerMs * patience,
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
      // A document with its envelope, twice its id and its time in the indexes. On the disk it is compressed; in the cache not.
      footprint: (idBytes, recordBytes) => 300 + 3 * idBytes + 1.2 * recordBytes,
    },
    ping: (signal) => ping(gateway, signal),
    schema: createSchema(gateway, collections, () =>
      createClient(uri, patience, building).db(database, patientDurability),
    ),
    describe: () => describeServer(gateway),
    warnings: () => findWarnings(gateway),
    [Symbol.asyncDispose]: () => (disposed ??= dispose()),
  }
}
