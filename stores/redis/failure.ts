import { Unavailable } from '../../core/api/storage.js'
import { lostMarker } from './scripts.js'

/** Socket and TLS errors by code. */
const byCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the host name cannot be looked up at the moment',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'host unreachable',
  ETIMEDOUT: 'no answer to the connection (with rediss://, none in TLS)',
  ECONNRESET: 'closed the connection; where it wants TLS, write rediss://',
  EPROTO: 'does not speak TLS; without TLS, write redis://',
  ERR_SSL_WRONG_VERSION_NUMBER: 'does not speak TLS; without TLS, write redis://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'does not speak TLS; without TLS, write redis://',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'TLS: the certificate comes from an unknown authority; put the CA certificate in options.ca',
  SELF_SIGNED_CERT_IN_CHAIN:
    'TLS: the certificate comes from an unknown authority; put the CA certificate in options.ca',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'TLS: the certificate comes from an unknown authority; put the CA certificate in options.ca',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'TLS: the certificate comes from an unknown authority; put the CA certificate in options.ca',
  CERT_HAS_EXPIRED: 'TLS: the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS: the certificate is for another host',
}

/** By the start or content of the message. The first match is reported. */
const byMessage: readonly (readonly [RegExp, string])[] = [
  [/^WRONGPASS|invalid password/, 'refuses the user name or the password'],
  [/^NOAUTH/, 'requires a password, and uri has none'],
  [/^NOPERM/, 'the account lacks a required permission'],
  [/^OOM/, 'is full: maxmemory is reached'],
  [/^LOADING/, 'is loading its data'],
  [/^READONLY/, 'has become a replica'],
  [/^MISCONF/, 'cannot write to its disk and accepts no writes'],
  [/^NOREPLICAS/, 'has too few replicas and accepts no writes'],
  [/^MASTERDOWN/, 'has lost its primary'],
  [/^CLUSTERDOWN/, 'is a cluster that is down'],
  [new RegExp(`^(?:NOSCRIPT|${lostMarker})`), 'has lost its memory'],
  [/DB index is out of range|invalid DB index/, 'has no database with that number'],
  [/^ERR syntax error/, 'is older than version 7'],
  [/cluster support disabled/, 'is not a cluster; leave options.cluster out'],
  [/^Command timed out|^Socket timeout/, 'no answer in time'],
  [/sentinels are unreachable/, 'no sentinel knows the primary'],
  [/refresh slots cache|startup nodes/, 'no node of the cluster answers'],
  [/^Protocol error/, 'does not speak the protocol of Redis; where it wants TLS, write rediss://'],
  [/isn't writeable|^Connection is closed|max retries per request/, 'the connection is down'],
]

interface NodeError extends Error {
  readonly code?: string
  readonly lastNodeError?: Error
}

const textFor = (error: NodeError): string | undefined =>
  byCode[error.code ?? ''] ?? byMessage.find(([pattern]) => pattern.test(error.message))?.[1]

/**
 * The operator's message. It never repeats the client's text: a server quotes arguments in its errors, and the client
 * attaches the command, which may contain the password.
 */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'failed'
  const { lastNodeError } = error as NodeError
  const reply = /^[A-Z]{3,}(?= )/.exec(error.message)?.[0]
  return (
    (lastNodeError && textFor(lastNodeError)) ??
    textFor(error) ??
    (reply === undefined ? 'failed' : `answers with the error ${reply}`)
  )
}

/** A server that answers with an error has done nothing, and neither has one that was not called. */
const isRefused = (error: Error): boolean =>
  error.name === 'ReplyError' || /isn't writeable|startup nodes|refresh slots cache/.test(error.message)

/** The server lacks the memory that the script relies on. Nothing was done. */
export const isLostMemory = (error: unknown): boolean =>
  error instanceof Error && (error.message.startsWith('NOSCRIPT') || error.message.startsWith(lostMarker))

export const isTimeout = (error: unknown): boolean => error instanceof Error && error.message === 'Command timed out'

/** Converts an error of the client. Our own bugs are left as they are. */
export const unavailable = (component: string, place: string, error: unknown): Unavailable => {
  if (error instanceof Unavailable) return error
  const applied = error instanceof Error && isRefused(error) ? 'no' : 'unknown'
  return new Unavailable(component, applied, `redis ${place}: ${reasonOf(error)}`)
}
