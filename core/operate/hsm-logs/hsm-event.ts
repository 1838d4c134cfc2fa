/** One operation in the log of an HSM. */
export interface HsmEvent {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** As the HSM calls it. */
  readonly operation: string
  /** As the HSM calls it. */
  readonly result: string
  /** The number of signatures that it made: 1 or 0. */
  readonly signatures: 0 | 1
  /** The key, the partition or the user, as far as the log names one. */
  readonly subject?: string
  /** The position in a log that has no gaps, and the name of that log. */
  readonly sequence?: { readonly log: string; readonly number: number }
}

/** A log format of HSMs, with its reader. */
export interface HsmLogFormat {
  /** A description of the files. */
  readonly files: string
  /** Where the format is documented. */
  readonly source: string
  /** Why the log says nothing of signatures. Absent if it counts them. */
  readonly uncounted?: string
  /** The events of a file. `undefined` stands for a line or record that is none. Throws as `readLines`. */
  read(file: string): AsyncGenerator<HsmEvent | undefined>
}
