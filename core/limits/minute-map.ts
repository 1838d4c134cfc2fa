/** Entries of the current minute, at most `most`. Each minute starts empty. */
export class MinuteMap<V> {
  readonly #most: number
  #entries = new Map<string, V>()
  #minute = NaN

  constructor(most: number) {
    this.#most = most
  }

  /** Must come first in every use: drops the entries of another minute. */
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

  /** Returns false, and stores nothing, when the id is new and the map is full. */
  set(id: string, value: V): boolean {
    const isKept = this.#entries.size < this.#most || this.#entries.has(id)
    if (isKept) this.#entries.set(id, value)
    return isKept
  }
}
