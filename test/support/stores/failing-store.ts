import type { Stores } from '../../../core/collections/stores.js'
import type { AuditLog } from '../../../core/observe/audit.js'
import type { CounterStore, StorageBackend } from '../../../core/storage/ports.js'
import { Unavailable } from '../../../core/unavailable.js'

/** `before`: nothing happened. `after`: it happened, and the answer was lost (F10). */
export type Fault = 'before' | 'after'

/** By `collection.verb`, or `*` for everything. */
export type Faults = Map<string, Fault>

const refused = () => new Unavailable('storage.double', 'no', 'connection refused')
const reset = () => new Unavailable('storage.double', 'unknown', 'connection reset')

const faulty = <Collection extends object>(name: string, collection: Collection, faults: Faults): Collection => {
  const verbs = Object.entries(collection).map(([verb, call]: [string, (...given: unknown[]) => Promise<unknown>]) => [
    verb,
    // It tells what is known already, and asks nobody.
    verb === 'since'
      ? call
      : async (...given: unknown[]) => {
          const fault = faults.get(`${name}.${verb}`) ?? faults.get('*')
          if (fault === 'before') throw refused()
          const result = await call(...given)
          if (fault === 'after') throw reset()
          return result
        },
  ])
  return Object.fromEntries(verbs) as Collection
}

/** `update` with what it decides: one that removes is `remove`, with a fault of its own. */
const faultyCounters = (name: string, sound: CounterStore, faults: Faults): CounterStore => ({
  async update(namespace, id, decide) {
    let fault = faults.get('*')
    if (fault === 'before') throw refused()
    const result = await sound.update<never, never>(namespace, id, (current, now, forgetAt) => {
      const step = decide(current, now, forgetAt)
      fault = faults.get(`${name}.${step.write === null ? 'remove' : 'update'}`) ?? faults.get('*')
      if (fault === 'before') throw refused()
      return step as never
    })
    if (fault === 'after') throw reset()
    return result
  },
})

/** A double of one store, in the place of both that the product opened. */
export const inBothRoles =
  (double: (sound: StorageBackend) => StorageBackend) =>
  (opened: Stores): Stores => {
    const records = double(opened.records)
    return { ...opened, records, ephemeral: records }
  }

/** A double: a sound store whose connection breaks on command. */
export const failingStore =
  (faults: Faults) =>
  (sound: StorageBackend): StorageBackend => ({
    ...sound,
    oneTime: (name) => faulty(name, sound.oneTime(name), faults),
    deviceCodes: (name) => faulty(name, sound.deviceCodes(name), faults),
    records: (name) => faulty(name, sound.records(name), faults),
    refreshFamilies: (name) => faulty(name, sound.refreshFamilies(name), faults),
    revocations: (name) => faulty(name, sound.revocations(name), faults),
    counters: (name) => faultyCounters(name, sound.counters(name), faults),
    replayGuard: (name) => faulty(name, sound.replayGuard(name), faults),
  })

/** A double: an audit log that cannot record the events in `lost`. */
export const failingAudit =
  (lost: ReadonlySet<string>) =>
  (sound: AuditLog): AuditLog => ({
    async record(...events) {
      if (events.some(({ event }) => lost.has(event))) throw new Unavailable('audit', 'no', 'no space left on device')
      await sound.record(...events)
    },
  })
