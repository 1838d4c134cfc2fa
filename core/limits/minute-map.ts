/** Entries of the current minute, `most` of them at most. The next minute begins with none. */
export class MinuteMap<V> {
  readonly #most: number
  #entries = new Map<string, V>()
  #minute = NaN

  constructor(most: number) {
    this.#most = most
  }

  /** Every use begins with this: forgets what belongs to another minute. */
  enter(minute: number): void {
    if (minute === this.#minute) return
    this.#minute = minute
    this.#entries = new Map()
  }

  get size(): number {
    return this.#entries.size
  }

  get(id: string): V | undefined {
    return this.#entries.get(id)
  }

  /** False, and nothing is kept, where the id is a new one and the map is full. */
  set(id: string, value: V): boolean {
    const isKept = this.#entries.size < this.#most || this.#entries.has(id)
    if (isKept) this.#entries.set(id, value)
    return isKept
  }
}
