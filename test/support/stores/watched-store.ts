import { Unavailable } from '../../../core/unavailable.js'
import type { OneTimeStore, RecordStore } from '../../../core/storage/ports.js'

/** Sees what goes into a real collection, and lets it be down. */
export interface Watch {
  /** Every id and record that was ever put, as JSON. */
  readonly puts: string[]
  down: boolean
}

const checkUp = (watch: Watch): void => {
  if (watch.down) throw new Unavailable('storage.watched', 'no', 'down for a test')
}

export const watchOneTime = <T>(store: OneTimeStore<T>): OneTimeStore<T> & Watch => ({
  puts: [],
  down: false,
  async put(id, record, ttlSeconds) {
    checkUp(this)
    this.puts.push(JSON.stringify([id, record]))
    await store.put(id, record, ttlSeconds)
  },
  async find(id) {
    checkUp(this)
    return store.find(id)
  },
  async findUnused(id) {
    checkUp(this)
    return store.findUnused(id)
  },
  async redeem(id) {
    checkUp(this)
    return store.redeem(id)
  },
})

export const watchRecords = <T>(store: RecordStore<T>): RecordStore<T> & Watch => ({
  puts: [],
  down: false,
  async put(id, record, options) {
    checkUp(this)
    this.puts.push(JSON.stringify([id, record]))
    return store.put(id, record, options)
  },
  async find(id) {
    checkUp(this)
    return store.find(id)
  },
  async remove(id) {
    checkUp(this)
    return store.remove(id)
  },
  async list(after, limit) {
    checkUp(this)
    return store.list(after, limit)
  },
  async update(id, decide) {
    checkUp(this)
    return store.update(id, (current, expiresAt) => {
      const step = decide(current, expiresAt)
      if (step.write) this.puts.push(JSON.stringify([id, step.write.record]))
      return step
    })
  },
})
