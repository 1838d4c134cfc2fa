/** A word of the command line, with what the help says of it. */
export interface Word {
  readonly name: string
  readonly description: string
}

export interface CompletedOption extends Word {
  /** `-c`. */
  readonly short: string | undefined
  /** What follows it: nothing, the name of a file, one of some words, or anything. */
  readonly value: 'none' | 'file' | 'any' | readonly string[]
}

/** What a person may type for it. */
export const namesOf = ({ name, short }: CompletedOption): readonly string[] =>
  short === undefined ? [name] : [name, short]

/** One command, as a shell completes it. */
export interface CompletedCommand {
  /** `keys create`; empty: the program. */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly CompletedOption[]
  /** Words that its first argument may be; `file`: the name of one. */
  readonly argument: 'none' | 'file' | readonly string[]
}
