import { hash, randomBytes } from 'node:crypto'

/** The version of the lines' schema: 2 since they are chained. */
export const schemaVersion = 2

/** How every chained line begins, so that what a killed process left of one is known for what it is. */
export const lineStart = `{"v":${schemaVersion},"writer":"`

/** What the next line of the same writer says of this one: base64url SHA-256 of its bytes, without the line feed. */
export const lineHash = (line: string): string => hash('sha256', line, 'base64url')

/**
 * The lines of one writer, each with the hash of the one before it. Several processes may append to one file: their
 * chains stand side by side, distinguished by `writer`. The first line of each has the hash of the line that was the
 * file's last one, of any writer, so that a restart goes on where the process before it ended.
 */
export class AuditChain {
  readonly #isStream: boolean
  readonly #start = `${lineStart}${randomBytes(8).toString('hex')}","seq":`
  #sequence = 0
  #head: string | undefined

  /** `isStream`: nobody can tell what comes before the first line, which says so. */
  constructor(isStream: boolean) {
    this.#isStream = isStream
  }

  get hasBegun(): boolean {
    return this.#sequence > 0
  }

  /** Before the first line: the hash of the line before it. Undefined: there is none. */
  continueFrom(last: string | undefined): void {
    this.#head = last
  }

  /** The lines, without line feeds, of these members of objects. They count as written. */
  link(members: readonly string[]): readonly string[] {
    return members.map((rest) => {
      const prev = this.#head === undefined ? 'null' : `"${this.#head}"`
      const mark = this.#isStream && this.#sequence === 0 ? '"stream":true,' : ''
      const line = `${this.#start}${++this.#sequence},"prev":${prev},${mark}${rest}`
      this.#head = lineHash(line)
      return line
    })
  }

  /** Takes back `lines`, of which only so many bytes were written: what is there in full stays. `head` was before them. */
  rewind(lines: readonly string[], head: string | undefined, written: number): void {
    this.#sequence -= lines.length
    this.#head = head
    let end = 0
    for (const line of lines) {
      end += Buffer.byteLength(line) + 1
      // A line that lacks nothing but its line feed gets it from the next write.
      if (end - 1 > written) return
      this.#sequence++
      this.#head = lineHash(line)
    }
  }

  get head(): string | undefined {
    return this.#head
  }
}
