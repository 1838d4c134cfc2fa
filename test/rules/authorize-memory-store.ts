import type { OneTimeStore, RecordStore, Redemption } from '../../core/storage/ports.js'
import type { Clock } from '../../core/clock.js'
import { Unavailable } from '../../core/unavailable.js'

interface Entry<T> {
  readonly record: T
  readonly expires: number
  redeemed: boolean
}

/** An in-memory double of one collection, with expiry by clock and an outage on command. JSON values go in and come out. */
class MemoryCollection<T> {
  readonly entries = new Map<string, Entry<string>>()
  down = false
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  protected live(id: string): Entry<string> | undefined {
    if (this.down) throw new Unavailable('test.store', 'no', 'the store is down')
    if (id.length < 1 || id.length > 512) throw new TypeError('ids have 1 to 512 characters')
    const entry = this.entries.get(id)
    return entry && entry.expires > this.#clock() ? entry : undefined
  }

  protected write(id: string, record: T, ttlSeconds = Infinity): void {
    const expires = this.#clock() + ttlSeconds * 1000
    this.entries.set(id, { record: JSON.stringify(record), expires, redeemed: false })
  }

  protected read(entry: Entry<string> | undefined): T | undefined {
    return entry && (JSON.parse(entry.record) as T)
  }

  async find(id: string): Promise<T | undefined> {
    return this.read(this.live(id))
  }

  records(): T[] {
    return [...this.entries.values()].map(({ record }) => JSON.parse(record) as T)
  }
}

export class MemoryOneTimeStore<T> extends MemoryCollection<T> implements OneTimeStore<T> {
  async put(id: string, record: T, ttlSeconds: number): Promise<void> {
    if (this.live(id)) throw new Error('the id exists')
    this.write(id, record, ttlSeconds)
  }

  async redeem(id: string): Promise<Redemption<T>> {
    const entry = this.live(id)
    const record = this.read(entry)
    if (entry === undefined || record === undefined) return { outcome: 'unknown' }
    if (entry.redeemed) return { outcome: 'replayed', record }
    entry.redeemed = true
    return { outcome: 'won', record }
  }
}

export class MemoryRecordStore<T> extends MemoryCollection<T> implements RecordStore<T> {
  async put(
    id: string,
    record: T,
    options: { readonly ttlSeconds?: number; readonly onlyIfAbsent?: boolean } = {},
  ): Promise<boolean> {
    if (this.live(id) && options.onlyIfAbsent) return false
    this.write(id, record, options.ttlSeconds)
    return true
  }

  async remove(id: string): Promise<boolean> {
    const existed = this.live(id) !== undefined
    this.entries.delete(id)
    return existed
  }

  async list(
    after: string | undefined,
    limit: number,
  ): Promise<readonly { readonly id: string; readonly record: T }[]> {
    return [...this.entries.keys()]
      .sort()
      .filter((id) => after === undefined || id > after)
      .slice(0, limit)
      .flatMap((id) => {
        const record = this.read(this.live(id))
        return record === undefined ? [] : [{ id, record }]
      })
  }
}
