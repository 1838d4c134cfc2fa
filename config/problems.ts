/** One thing that is wrong with a configuration. No member ever holds a value of the file. */
export interface Problem {
  /** Where: `keys[1].alg`. Empty: the file as a whole. */
  readonly path: string
  readonly message: string
  /** Line in the file, from 1. */
  readonly line?: number
  /** The file that `line` is of, where that is one that the configuration extends. */
  readonly file?: string
  /** Of what a module threw; secrets of its options are masked. */
  readonly stack?: string
}

/** A configuration that cannot be used, with everything that is wrong with it. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(problems.map(formatProblem).join('\n'))
    this.problems = problems
  }
}

/** Why a file cannot be read, in words where the system's code has such. */
export const describeReadFault = (error: unknown): string => {
  const { code = 'unknown error' } = error as NodeJS.ErrnoException
  const words: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file',
    EISDIR: 'it is a folder',
    ENOTDIR: 'it is no folder',
    EACCES: 'this user may not read it',
  }
  return `cannot be read: ${words[code] ?? code}`
}

/** `keys[1].alg: … (line 12)`; of a file that the configuration extends: `(base.yaml, line 12)`. */
export const formatProblem = ({ path, message, line, file }: Problem): string => {
  const place = [file, line === undefined ? undefined : `line ${String(line)}`].filter((part) => part !== undefined)
  return `${path === '' ? '' : `${path}: `}${message}${place.length === 0 ? '' : ` (${place.join(', ')})`}`
}
