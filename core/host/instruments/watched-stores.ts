import { Counts, DurationsBy } from '../../observe/counts.js'
import type { Metrics } from '../../observe/metrics.js'
import type { Tracing } from '../../observe/tracing.js'
import type { EphemeralBackend } from '../../storage/ports.js'
import { Unavailable } from '../../unavailable.js'
import type { Stores } from '../stores.js'

/** Members of a backend that give a collection. */
const kinds: ReadonlySet<PropertyKey> = new Set([
  'oneTime',
  'records',
  'refreshFamilies',
  'replayGuard',
  'revocations',
  'counters',
  'deviceCodes',
])

/** Answers at once. */
const synchronous: ReadonlySet<string> = new Set(['since'])

type Method = (...given: unknown[]) => unknown

const methodsOf = (collection: object): readonly string[] => {
  const names = new Set<string>()
  for (let of: object | null = collection; of !== null && of !== Object.prototype; of = Reflect.getPrototypeOf(of))
    for (const name of Object.getOwnPropertyNames(of)) if (name !== 'constructor') names.add(name)
  return [...names].filter((name) => typeof Reflect.get(collection, name) === 'function')
}

/** What became of an operation, in a word. */
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

/** The same stores, whose operations are counted. */
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
    const isAsync = !synchronous.has(operation)
    return (...given) =>
      isAsync
        ? tracing.call(`store ${operation}`, attributes, () => method(...given) as Promise<unknown>)
        : method(...given)
  }

  const watchCollection = (role: string, name: string, collection: object): object => {
    const watch = (operation: string): [string, Method] => {
      const method = traced(role, name, operation, (Reflect.get(collection, operation) as Method).bind(collection))
      const took = durations.of(role, operation)
      const count = (start: number, outcome: string): void => {
        took.add(performance.now() - start)
        counts.of(role, name, operation, outcome).value++
      }
      const watched: Method = (...given) => {
        const start = performance.now()
        const result = method(...given)
        if (!(result instanceof Promise)) return result
        return result.then(
          (value: unknown) => {
            count(start, outcomeOf(operation, value))
            return value
          },
          (error: unknown) => {
            count(start, faultOf(error))
            throw error
          },
        )
      }
      return [operation, watched]
    }
    return Object.fromEntries(methodsOf(collection).map(watch))
  }

  const watchBackend = <B extends EphemeralBackend>(role: string, backend: B): B =>
    new Proxy(backend, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member, target)
        if (typeof value !== 'function') return value
        const method = (value as Method).bind(target)
        if (!kinds.has(member)) return method
        return (name: string) => watchCollection(role, name, method(name) as object)
      },
    })

  return {
    records: watchBackend('records', stores.records),
    ephemeral: watchBackend('ephemeral', stores.ephemeral),
    [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose](),
  }
}
