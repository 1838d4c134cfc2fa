import { Counts, DurationsBy, type Tally } from '../../observe/counts.js'
import type { Metrics } from '../../observe/metrics.js'
import type { Tracing } from '../../observe/tracing.js'
import type { EphemeralBackend, StorageBackend } from '../../storage/ports.js'
import { Unavailable } from '../../unavailable.js'
import type { Stores } from '../../collections/stores.js'

type Method = (...given: unknown[]) => unknown

/** Returns the outcome of an operation in one word. */
const outcomeOf = (operation: string, value: unknown): string => {
  if (operation === 'claim') return value === false ? 'replayed' : 'won'
  if (operation === 'update') return (value as { allowed?: boolean } | undefined)?.allowed === false ? 'refused' : 'ok'
  const isDecided = operation === 'redeem' || operation === 'rotate' || operation === 'decide' || operation === 'poll'
  return isDecided ? (value as { outcome: string }).outcome : 'ok'
}

const faultOf = (error: unknown): string => {
  if (!(error instanceof Unavailable)) return 'error'
  return error.applied === 'no' ? 'not_applied' : 'outcome_unknown'
}

/**
 * Returns the named operations of a collection, each of them watched. An operation that is not named is missing, and
 * the type of the port says which ones are needed.
 */
type Watch = <Port extends object, Name extends keyof Port & string>(
  collection: string,
  port: Port,
  ...names: Name[]
) => Pick<Port, Name>

const watchEphemeral = (backend: EphemeralBackend, watch: Watch): EphemeralBackend => ({
  ...operatedAs(backend),
  oneTime: <T>(name: string) => watch(name, backend.oneTime<T>(name), 'put', 'find', 'findUnused', 'redeem'),
  records: <T>(name: string) => watch(name, backend.records<T>(name), 'find', 'put', 'remove'),
  counters: (name) => watch(name, backend.counters(name), 'update'),
  replayGuard(name) {
    const guard = backend.replayGuard(name)
    return { ...watch(name, guard, 'claim'), ...(guard.since && { since: guard.since.bind(guard) }) }
  },
})

const watchRecords = (backend: StorageBackend, watch: Watch): StorageBackend => ({
  ...watchEphemeral(backend, watch),
  records: <T>(name: string) => watch(name, backend.records<T>(name), 'find', 'put', 'remove', 'list', 'update'),
  replayGuard: (name) => watch(name, backend.replayGuard(name), 'claim'),
  refreshFamilies: <T>(name: string) =>
    watch(name, backend.refreshFamilies<T>(name), 'start', 'find', 'rotate', 'remove'),
  revocations: (name) => watch(name, backend.revocations(name), 'revoke', 'revokeBefore', 'isRevoked', 'endedBefore'),
  deviceCodes: <Request, Approval>(name: string) =>
    watch(
      name,
      backend.deviceCodes<Request, Approval>(name),
      ...(['start', 'find', 'findByUserCode', 'poll', 'decide', 'redeem'] as const),
    ),
})

/** Operations of a store that do not belong to a collection. */
const operatedAs = (backend: EphemeralBackend) => ({
  room: backend.room,
  ping: (signal: AbortSignal) => backend.ping(signal),
  ...(backend.describe && { describe: backend.describe.bind(backend) }),
  ...(backend.schema && { schema: backend.schema }),
  ...(backend.warnings && { warnings: backend.warnings.bind(backend) }),
  [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
})

/** Returns the same stores, with their operations counted. */
export const watchStores = (stores: Stores, metrics: Metrics, tracing: Tracing | undefined): Stores => {
  const counts = new Counts('role', 'collection', 'operation', 'outcome')
  const durations = new DurationsBy('role', 'operation')
  metrics.observe({
    type: 'counter',
    name: 'signet_store_operations_total',
    help: 'Store operations.',
    labels: ['role', 'collection', 'operation', 'outcome'],
    read: counts.read,
  })
  metrics.observe({
    type: 'histogram',
    name: 'signet_store_operation_duration_seconds',
    help: 'Duration of store operations.',
    labels: ['role', 'operation'],
    read: durations.read,
  })
  metrics.observe({
    type: 'counter',
    name: 'signet_replays_total',
    help: 'Single-use values presented again and refused: assertions, proofs, codes, refresh tokens.',
    labels: ['collection'],
    read: () => {
      const byCollection = new Map<string, number>()
      for (const { labels, value } of counts.read()) {
        const { collection = '', outcome } = labels
        if (outcome === 'replayed') byCollection.set(collection, (byCollection.get(collection) ?? 0) + value)
      }
      return [...byCollection].map(([collection, value]) => ({ labels: { collection }, value }))
    },
  })

  const traced = (role: string, collection: string, operation: string, method: Method): Method => {
    if (tracing === undefined) return method
    const attributes = { 'signet.role': role, 'db.collection.name': collection, 'db.operation.name': operation }
    return (...given) => tracing.call(`store ${operation}`, attributes, () => method(...given) as Promise<unknown>)
  }

  const counted = (role: string, collection: string, operation: string, method: Method): Method => {
    const took = durations.of(role, operation)
    const tallies = new Map<string, Tally>()
    const tallyOf = (outcome: string): Tally => {
      const tally = counts.of(role, collection, operation, outcome)
      tallies.set(outcome, tally)
      return tally
    }
    const count = (start: number, outcome: string): void => {
      took.add(performance.now() - start)
      const tally = tallies.get(outcome) ?? tallyOf(outcome)
      tally.value++
    }
    return (...given) => {
      const start = performance.now()
      return (method(...given) as Promise<unknown>).then(
        (value) => {
          count(start, outcomeOf(operation, value))
          return value
        },
        (error: unknown) => {
          count(start, faultOf(error))
          throw error
        },
      )
    }
  }

  /** Watches the operations of the collections of one role. */
  const watchRole =
    (role: string): Watch =>
    (collection, port, ...names) =>
      Object.fromEntries(
        names.map((operation) => {
          const method = (port[operation] as Method).bind(port)
          return [operation, counted(role, collection, operation, traced(role, collection, operation, method))]
        }),
      ) as Pick<typeof port, (typeof names)[number]>

  return {
    records: watchRecords(stores.records, watchRole('records')),
    ephemeral: watchEphemeral(stores.ephemeral, watchRole('ephemeral')),
    [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose](),
  }
}
