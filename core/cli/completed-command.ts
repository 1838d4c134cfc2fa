/** A word of the command line, with its description from the help. */
export interface Word {
  readonly name: string
  readonly description: string
}

export interface CompletedOption extends Word {
  /** The short form, such as `-c`. */
  readonly short: string | undefined
  /** The kind of argument that the option takes: none, the name of a file, one of several words, or any text. */
  readonly value: 'none' | 'file' | 'any' | readonly string[]
}

/** Returns what a person may type for the option. */
export const namesOf = ({ name, short }: CompletedOption): readonly string[] =>
  short === undefined ? [name] : [name, short]

/** One command, as a shell completes it. */
export interface CompletedCommand {
  /** The path, such as `keys create`. It is empty for the program itself. */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly CompletedOption[]
  /** The words that its first argument may be. `file` means that the argument is a file name. */
  readonly argument: 'none' | 'file' | readonly string[]
}
