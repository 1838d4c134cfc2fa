import cluster from 'node:cluster'
import { CommanderError } from 'commander'
import { AwaitsApproval } from '../administration/require-approval.js'
import { ConfigurationError, formatProblem, type Problem } from '../../config/problems.js'
import { refusedExitCode } from '../workers/worker-pool.js'
import { KeyRefused } from '../keys/ports.js'
import { Unavailable } from '../unavailable.js'
import { printError } from './output.js'

/** A command that cannot do what was asked. The message consists of sentences for the operator. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
}

const describeSystemError = ({ code, path, message = '' }: Partial<NodeJS.ErrnoException>): string =>
  code === 'ENOENT' && path !== undefined ? `${path}: there is no such file` : message

/**
 * Describes why a package with a native part cannot be loaded. The package itself always advises to install it again,
 * but in a minimal container a system library is missing. Each cause names the reason for one file that was tried.
 * Returns undefined for other errors.
 */
const describeNativeFailure = (error: unknown): string | undefined => {
  if (!(error instanceof Error) || !error.message.startsWith('Cannot find native binding')) return undefined
  const reasons: string[] = []
  for (let { cause } = error; cause instanceof Error; { cause } = cause)
    reasons.push(cause.message.split('\n', 1)[0] ?? '')
  const [name] = /@[\w-]+\/[\w-]+/.exec(error.stack ?? '') ?? ['a package']
  return [
    `The native part of ${name} cannot be loaded, because of one of these:`,
    ...reasons.map((reason) => `  ${reason}`),
    'Install the libraries that are named (a minimal image may lack them), or the packages again on this system.',
  ].join('\n')
}

let isVerbose = false

/** Sets whether problems are printed with the stack of the module that threw. */
export const setVerbose = (wanted: boolean): void => {
  isVerbose = wanted
}

export const printProblems = (problems: readonly Problem[], output: (text: string) => void = printError): void => {
  for (const problem of problems) {
    output(formatProblem(problem))
    if (isVerbose && problem.stack !== undefined) printError(problem.stack)
  }
}

/** Returns the problems as `--json` prints them. */
export const withoutStacks = (problems: readonly Problem[]): readonly Problem[] =>
  problems.map(({ stack: _stack, ...problem }) => problem)

/** Nothing was changed yet, so the exit code is that of a failure. What was generated is shown only now. */
const printWaiting = ({ message, document, secrets }: AwaitsApproval): void => {
  printError(`${message}, ${String(document.approvals)} of them, until ${document.expires}. Nothing has changed yet.`)
  for (const [name, value] of Object.entries(secrets)) printError(`${name} (shown this once): ${JSON.stringify(value)}`)
}

/**
 * Prints what went wrong on standard error and returns the exit code: 1 for a problem, 2 for wrong usage. A worker
 * exits with a separate code when waiting cannot help.
 */
export const reportFailure = (error: unknown): number => {
  // Commander has already printed the error, the help or the version.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const native = describeNativeFailure(error)
  if (native !== undefined) printError(native)
  else if (error instanceof ConfigurationError) printProblems(error.problems)
  else if (error instanceof AwaitsApproval) printWaiting(error)
  else if (error instanceof CommandFailed || error instanceof KeyRefused) printError(error.message)
  else if (error instanceof Unavailable) printError(`${error.component}: ${error.message}`)
  else if (error instanceof Error && 'syscall' in error) printError(describeSystemError(error as NodeJS.ErrnoException))
  else printError(error instanceof Error ? (error.stack ?? error.message) : String(error))
  return cluster.isWorker && error instanceof ConfigurationError ? refusedExitCode : 1
}
