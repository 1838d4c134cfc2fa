/** One thing that is wrong with a configuration. Neither member ever holds a value of the file. */
export interface Problem {
  /** Where: `keys[1].alg`. Empty: the file as a whole. */
  readonly path: string
  readonly message: string
  /** Line in the file, from 1. */
  readonly line?: number
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

export type Path = readonly (string | number)[]

/** `['keys', 1, 'alg']` as `keys[1].alg`. */
export const formatPath = (path: Path): string => {
  let text = ''
  for (const part of path) {
    if (typeof part === 'number') text += `[${String(part)}]`
    else if (/^[A-Za-z_$][\w$-]*$/.test(part)) text += text === '' ? part : `.${part}`
    else text += `[${JSON.stringify(part)}]`
  }
  return text
}

/** `keys[1].alg: … (line 12)`. */
export const formatProblem = ({ path, message, line }: Problem): string =>
  `${path === '' ? '' : `${path}: `}${message}${line === undefined ? '' : ` (line ${String(line)})`}`
