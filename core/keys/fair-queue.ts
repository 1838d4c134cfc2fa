import type { SignaturePriority } from './ports.js'

const priorities: readonly SignaturePriority[] = ['sign_in', 'refresh', 'machine', 'renewal']

/** A place in the queue. */
export interface Place {
  readonly priority: SignaturePriority
  readonly clientId: string
}

/**
 * A bounded queue: higher priorities go first, and within a priority the clients take turns. When it is full, a place
 * of a lower priority, or else of the client with the most places, is given to one who has less.
 */
export class FairQueue<T extends Place> {
  readonly #limit: number
  /** Clients in order of their turns, each with what it waits for. */
  readonly #lanes = new Map(priorities.map((priority) => [priority, new Map<string, T[]>()] as const))
  #size = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#size
  }

  /** Returns who has to go for it: another one, or `item` itself. Undefined when there was room. */
  push(item: T): T | undefined {
    const displaced = this.#size < this.#limit ? undefined : this.#findWeakest(item)
    if (displaced === item) return item
    if (displaced !== undefined) this.remove(displaced)
    const lane = this.#lane(item)
    const own = lane.get(item.clientId)
    if (own === undefined) lane.set(item.clientId, [item])
    else own.push(item)
    this.#size++
    return displaced
  }

  /** The next one, or undefined when nobody waits. */
  shift(): T | undefined {
    for (const lane of this.#lanes.values()) {
      for (const [clientId, items] of lane) {
        const item = items.shift()
        // To the end of the turns.
        lane.delete(clientId)
        if (items.length > 0) lane.set(clientId, items)
        this.#size--
        return item
      }
    }
    return undefined
  }

  /** Takes out one who waits no more. */
  remove(item: T): void {
    const lane = this.#lane(item)
    const items = lane.get(item.clientId)
    const index = items?.indexOf(item) ?? -1
    if (items === undefined || index === -1) return
    items.splice(index, 1)
    if (items.length === 0) lane.delete(item.clientId)
    this.#size--
  }

  #lane({ priority }: Place): Map<string, T[]> {
    return this.#lanes.get(priority) as Map<string, T[]>
  }

  #findWeakest(item: T): T {
    const lowest = [...this.#lanes].findLast(([, lane]) => lane.size > 0)
    if (lowest === undefined) return item
    const [priority, lane] = lowest
    const rank = priorities.indexOf(priority) - priorities.indexOf(item.priority)
    if (rank < 0) return item
    let longest: readonly T[] = []
    for (const items of lane.values()) if (items.length > longest.length) longest = items
    const own = lane.get(item.clientId)?.length ?? 0
    const weakest = rank > 0 || longest.length > own + 1 ? longest.at(-1) : item
    return weakest ?? item
  }
}
