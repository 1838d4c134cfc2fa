/** An entry of the queue. */
export interface QueueEntry<Priority extends string> {
  readonly priority: Priority
  /** The client or address that it belongs to. */
  readonly owner: string
}

/**
 * A bounded queue: higher priorities go first, and within a priority the owners take turns. When it is full, the
 * newcomer displaces an entry of lower priority, or one of the owner with the most entries if it has fewer itself.
 */
export class FairQueue<Priority extends string, T extends QueueEntry<Priority>> {
  readonly #limit: number
  readonly #priorities: readonly Priority[]
  /** Owners in the order of their turns, each with its waiting entries. */
  readonly #lanes: ReadonlyMap<Priority, Map<string, T[]>>
  #size = 0

  /** `priorities` starts with the highest. */
  constructor(limit: number, priorities: readonly Priority[]) {
    this.#limit = limit
    this.#priorities = priorities
    this.#lanes = new Map(priorities.map((priority) => [priority, new Map<string, T[]>()]))
  }

  get size(): number {
    return this.#size
  }

  /** Returns the entry that is displaced, which may be `item` itself, or undefined when there was space. */
  push(item: T): T | undefined {
    const displaced = this.#size < this.#limit ? undefined : this.#findWeakest(item)
    if (displaced === item) return item
    if (displaced !== undefined) this.remove(displaced)
    const lane = this.#lane(item)
    const own = lane.get(item.owner)
    if (own === undefined) lane.set(item.owner, [item])
    else own.push(item)
    this.#size++
    return displaced
  }

  /** Returns the next entry, or undefined when none waits. */
  shift(): T | undefined {
    for (const lane of this.#lanes.values()) {
      for (const [owner, items] of lane) {
        const item = items.shift()
        // Moves the owner to the end of the turns.
        lane.delete(owner)
        if (items.length > 0) lane.set(owner, items)
        this.#size--
        return item
      }
    }
    return undefined
  }

  /** Removes an entry that no longer waits. */
  remove(item: T): void {
    const lane = this.#lane(item)
    const items = lane.get(item.owner)
    const index = items?.indexOf(item) ?? -1
    if (items === undefined || index === -1) return
    items.splice(index, 1)
    if (items.length === 0) lane.delete(item.owner)
    this.#size--
  }

  #lane({ priority }: T): Map<string, T[]> {
    return this.#lanes.get(priority) as Map<string, T[]>
  }

  #findWeakest(item: T): T {
    const lowest = [...this.#lanes].findLast(([, lane]) => lane.size > 0)
    if (lowest === undefined) return item
    const [priority, lane] = lowest
    const rank = this.#priorities.indexOf(priority) - this.#priorities.indexOf(item.priority)
    if (rank < 0) return item
    let longest: readonly T[] = []
    for (const items of lane.values()) if (items.length > longest.length) longest = items
    const own = lane.get(item.owner)?.length ?? 0
    const weakest = rank > 0 || longest.length > own + 1 ? longest.at(-1) : item
    return weakest ?? item
  }
}
