import { hash, randomBytes } from 'node:crypto'

/** The version of the lines' schema. It is 2 since lines are chained. */
export const schemaVersion = 2

/** The start of every chained line, so that the remains of a killed process's line can be recognised. */
export const lineStart = `{"v":${schemaVersion},"writer":"`

/**
 * The hash of this line that the next line of the same writer contains: base64url SHA-256 of its bytes, without the
 * line feed.
 */
export const lineHash = (line: string): string => hash('sha256', line, 'base64url')

/**
 * The lines of one writer, each with the hash of the one before. Several processes may append to one file; their
 * chains are interleaved and told apart by `writer`. The first line of each has the hash of the file's last line,
 * whichever writer it is from, so that a restart continues where the previous process ended.
 */
export class AuditChain {
  readonly #isStream: boolean
  readonly #start = `${lineStart}${randomBytes(8).toString('hex')}","seq":`
  #sequence = 0
  #head: string | undefined

  /** `isStream`: what comes before the first line is unknown, and that line says so. */
  constructor(isStream: boolean) {
    this.#isStream = isStream
  }

  get hasBegun(): boolean {
    return this.#sequence > 0
  }

  /** Sets the hash of the line before the first one, or undefined if there is none. */
  continueFrom(last: string | undefined): void {
    this.#head = last
  }

  /** Builds the lines, without line feeds, from these members of objects. They count as written. */
  link(members: readonly string[]): readonly string[] {
    return members.map((rest) => {
      const prev = this.#head === undefined ? 'null' : `"${this.#head}"`
      const mark = this.#isStream && this.#sequence === 0 ? '"stream":true,' : ''
      const line = `${this.#start}${++this.#sequence},"prev":${prev},${mark}${rest}`
      this.#head = lineHash(line)
      return line
    })
  }

  /**
   * Takes back `lines` after only `written` bytes were written; complete lines stay. `head` is the hash before them.
   */
  rewind(lines: readonly string[], head: string | undefined, written: number): void {
    this.#sequence -= lines.length
    this.#head = head
    let end = 0
    for (const line of lines) {
      end += Buffer.byteLength(line) + 1
      // A line that lacks only its line feed gets it from the next write.
      if (end - 1 > written) return
      this.#sequence++
      this.#head = lineHash(line)
    }
  }

  get head(): string | undefined {
    return this.#head
  }
}
