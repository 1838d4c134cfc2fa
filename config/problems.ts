/** A problem of a configuration. No member ever holds a value of the file. */
export interface Problem {
  /** The path, such as `keys[1].alg`. Empty for the file as a whole. */
  readonly path: string
  readonly message: string
  /** Line in the file, from 1. */
  readonly line?: number
  /** The file of `line`, if it is one that the configuration extends. */
  readonly file?: string
  /** The stack of a module's error, with secrets of its options masked. */
  readonly stack?: string
}

/** A configuration that cannot be used, with all its problems. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(problems.map(formatProblem).join('\n'))
    this.problems = problems
  }
}

/** Why a file cannot be read, in words if they exist for the system's code. */
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

/** Formats as `keys[1].alg: … (line 12)`, or `(base.yaml, line 12)` for a file that the configuration extends. */
export const formatProblem = ({ path, message, line, file }: Problem): string => {
  const place = [file, line === undefined ? undefined : `line ${String(line)}`].filter((part) => part !== undefined)
  return `${path === '' ? '' : `${path}: `}${message}${place.length === 0 ? '' : ` (${place.join(', ')})`}`
}
