import { MongoAPIError, MongoError, MongoNetworkError, MongoServerError, MongoServerSelectionError } from 'mongodb'
import { Unavailable } from '../../core/api/storage.js'

/** A read changes nothing; a write without an answer may have been applied. */
export type Access = 'read' | 'write'

/** The server did not even start: not primary, not authorised, unknown user, refused by a validator, too large. */
const refusals: ReadonlySet<unknown> = new Set([10107, 13435, 13, 18, 8000, 121, 10334])

/** Errors that the driver throws before sending anything, unless it was a second attempt. */
const unsent: ReadonlySet<string> = new Set([
  'MongoServerSelectionError',
  'MongoWaitQueueTimeoutError',
  'MongoPoolClearedError',
  'MongoPoolClosedError',
])

/** Settings in the connection string. */
export interface Connecting {
  /** If true, the driver repeats writes, and its last error does not describe the first attempt. */
  readonly retryWrites: boolean
  readonly tls: boolean
}

const isCertain = (error: MongoError, { retryWrites }: Connecting): boolean => {
  // A write that succeeds with `ok: 1` and a write concern error is a `MongoServerError` too: the majority's.
  if (error instanceof MongoServerError) return error.name === 'MongoServerError' && refusals.has(error.code)
  if (error instanceof MongoAPIError) return true
  return !retryWrites && unsent.has(error.name)
}

/** Describes the error for the operator. The driver's messages contain host names but never credentials. */
const describe = (error: MongoError, { tls }: Connecting): string => {
  if (error instanceof MongoServerSelectionError && error.reason?.type === 'ReplicaSetNoPrimary')
    return 'the replica set has no primary, or another name'
  if (error instanceof MongoServerSelectionError && /timed out|closed/.test(error.message))
    return `no server answers (${error.message}); does it ${tls ? 'speak' : 'want'} TLS?`
  if (error.code === 18 || error.code === 8000) return `the user name or the password is wrong: ${error.message}`
  if (error.code === 13) return `the user may not do this: ${error.message}`
  // The server's message about a document may contain its content.
  if (error instanceof MongoServerError && error.code === 121)
    return 'a validator of the collection refuses the document'
  return /certificate|TLS|SSL|packet length|wrong version/i.test(error.message)
    ? `TLS: ${error.message}`
    : error.message
}

export const isDuplicate = (error: unknown): boolean => error instanceof MongoServerError && error.code === 11000

/** A server that is no longer primary, an election in progress, or a shutdown. */
const passing: ReadonlySet<unknown> = new Set([10107, 13435, 13436, 189, 91, 11600, 11602])

/** For a read, another attempt at the server that is then primary may succeed (Retryable Reads). */
export const isPassing = (error: unknown): boolean =>
  error instanceof MongoNetworkError || (error instanceof MongoServerError && passing.has(error.code))

/** A certificate file or DNS name that does not exist is found at the first use, before anything is sent. */
const isOfTheSystem = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && 'syscall' in error

/** Converts an error of the driver to `Unavailable`. A duplicate `_id` and errors of our own are thrown as they are. */
export const failureOf = (component: string, access: Access, error: unknown, connecting: Connecting): unknown => {
  if (isOfTheSystem(error)) return new Unavailable(component, 'no', error.message)
  if (!(error instanceof MongoError) || isDuplicate(error)) return error
  const applied = access === 'read' || isCertain(error, connecting) ? 'no' : 'unknown'
  return new Unavailable(component, applied, describe(error, connecting))
}
