import { MongoAPIError, MongoError, MongoNetworkError, MongoServerError, MongoServerSelectionError } from 'mongodb'
import { Unavailable } from '../../core/api/storage.js'

/** A read changes nothing; a write whose answer is missing may have been applied. */
export type Access = 'read' | 'write'

/** The server says that it did not even begin: not primary, not allowed, unknown user, refused by a validator, too large. */
const refusals: ReadonlySet<unknown> = new Set([10107, 13435, 13, 18, 8000, 121, 10334])

/** What the driver throws before it has sent anything, unless it was at its second attempt. */
const unsent: ReadonlySet<string> = new Set([
  'MongoServerSelectionError',
  'MongoWaitQueueTimeoutError',
  'MongoPoolClearedError',
  'MongoPoolClosedError',
])

/** What the connection string asks for. */
export interface Connecting {
  /** The driver repeats writes, so that what it says last is not what became of the first attempt. */
  readonly retryWrites: boolean
  readonly tls: boolean
}

const isCertain = (error: MongoError, { retryWrites }: Connecting): boolean => {
  // A write that goes through with `ok: 1` and a write concern error is a `MongoServerError` too: that of the majority.
  if (error instanceof MongoServerError) return error.name === 'MongoServerError' && refusals.has(error.code)
  if (error instanceof MongoAPIError) return true
  return !retryWrites && unsent.has(error.name)
}

/** In words for the operator. The driver's messages name hosts and never credentials. */
const describe = (error: MongoError, { tls }: Connecting): string => {
  if (error instanceof MongoServerSelectionError && error.reason?.type === 'ReplicaSetNoPrimary')
    return 'the replica set has no primary, or another name'
  if (error instanceof MongoServerSelectionError && /timed out|closed/.test(error.message))
    return `no server answers (${error.message}); does it ${tls ? 'speak' : 'want'} TLS?`
  if (error.code === 18 || error.code === 8000) return `the user name or the password is wrong: ${error.message}`
  if (error.code === 13) return `the user may not do this: ${error.message}`
  // What the server says of a document may name its content.
  if (error instanceof MongoServerError && error.code === 121)
    return 'a validator of the collection refuses the document'
  return /certificate|TLS|SSL|packet length|wrong version/i.test(error.message)
    ? `TLS: ${error.message}`
    : error.message
}

export const isDuplicate = (error: unknown): boolean => error instanceof MongoServerError && error.code === 11000

/** Not primary any more, no primary yet, shutting down. */
const passing: ReadonlySet<unknown> = new Set([10107, 13435, 13436, 189, 91, 11600, 11602])

/** For a read: another attempt, at the server that is primary then, may go well (Retryable Reads). */
export const isPassing = (error: unknown): boolean =>
  error instanceof MongoNetworkError || (error instanceof MongoServerError && passing.has(error.code))

/** A file of certificates or a name of DNS that is not there: found at the first use, before anything is sent. */
const isOfTheSystem = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && 'syscall' in error

/**
 * What is thrown for an error of the driver: `Unavailable`, or the error itself where it says that there is such an `_id`,
 * or that we did something wrong.
 */
export const failureOf = (component: string, access: Access, error: unknown, connecting: Connecting): unknown => {
  if (isOfTheSystem(error)) return new Unavailable(component, 'no', error.message)
  if (!(error instanceof MongoError) || isDuplicate(error)) return error
  const applied = access === 'read' || isCertain(error, connecting) ? 'no' : 'unknown'
  return new Unavailable(component, applied, describe(error, connecting))
}
