import cluster from 'node:cluster'
import { CommanderError } from 'commander'
import { ConfigurationError, formatProblem } from '../../config/problems.js'
import { refusedExitCode } from '../host/workers/worker-pool.js'
import { KeyRefused } from '../keys/ports.js'
import { Unavailable } from '../unavailable.js'
import { printError } from './output.js'

/** A command that cannot do what was asked, in sentences for the operator. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
}

/**
 * Prints what went wrong on standard error and returns the exit code: 1 for a problem, 2 for wrong usage. A worker has a
 * code of its own for what waiting does not cure.
 */
export const reportFailure = (error: unknown): number => {
  // Commander has printed the error already, or help or the version was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof ConfigurationError) for (const problem of error.problems) printError(formatProblem(problem))
  else if (error instanceof CommandFailed || error instanceof KeyRefused) printError(error.message)
  else if (error instanceof Unavailable) printError(`${error.component}: ${error.message}`)
  else if (error instanceof Error && 'syscall' in error) printError(error.message)
  else printError(error instanceof Error ? (error.stack ?? error.message) : String(error))
  return cluster.isWorker && error instanceof ConfigurationError ? refusedExitCode : 1
}
