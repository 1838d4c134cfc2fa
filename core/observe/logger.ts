import { pino, type DestinationStream } from 'pino'
import pretty from 'pino-pretty'
import type { JsonObject } from '../json.js'
import type { Log } from './log.js'
import { redact, redactText } from './redact.js'

export interface LoggerOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  /** For people at a terminal; otherwise one JSON object a line. */
  readonly pretty: boolean
}

export interface Logger extends Log {
  /** Resolves when all lines are written, or cannot be. Lines that stand at the end of the process are written without it. */
  flush(): Promise<void>
}

/** Lines are gathered for this long, or until there are so many bytes of them: each write wakes a thread. */
const flushEveryMs = 200
const batchBytes = 16 * 1024 - 1
/** What is kept when nobody reads standard output. Beyond it lines are dropped: the service goes on. */
const maxPendingBytes = 16 * 1024 * 1024

let at = NaN
let time = ''

/** As pino's own `isoTime`, made once a millisecond. */
const timestamp = (): string => {
  const now = Date.now()
  if (now !== at) time = `,"time":"${new Date((at = now)).toISOString()}"`
  return time
}

/** Writes to standard output. Values of fields with a secret's name are left out at any depth. */
export const createLogger = (options: LoggerOptions): Logger => {
  const { stream, flush } = options.pretty ? prettyOutput() : jsonOutput()
  const logger = pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  )
  const write =
    (level: 'debug' | 'info' | 'warn') =>
    (message: string, fields?: JsonObject): void => {
      if (!logger.isLevelEnabled(level)) return
      if (fields === undefined) logger[level](message)
      else logger[level](redact(fields), message)
    }
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: (message, fields = {}, cause) => {
      logger.error(
        cause === undefined ? redact(fields) : { ...redact(fields), cause: describeError(cause, 0) },
        message,
      )
    },
    flush,
  }
}

const jsonOutput = (): { stream: DestinationStream; flush: () => Promise<void> } => {
  const stream = pino.destination({
    dest: 1,
    sync: false,
    minLength: batchBytes,
    maxLength: maxPendingBytes,
    periodicFlush: flushEveryMs,
  })
  // A full disk ends no service, and keeps none from its end: what cannot be written is tried again with the next lines,
  // but not at the exit, where the stream would try for ever.
  let failing = false
  stream.on('error', () => (failing = true)).on('write', () => (failing = false))
  const flushSync = stream.flushSync.bind(stream)
  stream.flushSync = () => {
    if (!failing) flushSync()
  }
  // Written, it is then synced, which pipes and terminals cannot be.
  const flush = (): Promise<void> => new Promise((resolve) => stream.flush(() => resolve()))
  return { stream, flush }
}

const prettyOutput = (): { stream: DestinationStream; flush: () => Promise<void> } => ({
  stream: pretty({ destination: 1, sync: true, ignore: 'pid', translateTime: 'SYS:HH:MM:ss' }),
  flush: () => Promise.resolve(),
})

/** Members by name: libraries hang whole requests and configurations on their errors. */
const describeError = (error: unknown, depth: number): JsonObject => {
  if (!(error instanceof Error)) return { type: typeof error }
  const { code } = error as { code?: unknown }
  return {
    type: error.name,
    message: redactText(error.message),
    ...(error.stack === undefined ? {} : { stack: redactText(error.stack) }),
    ...(typeof code === 'string' || typeof code === 'number' ? { error_code: code } : {}),
    ...(error.cause === undefined || depth === 3 ? {} : { cause: describeError(error.cause, depth + 1) }),
  }
}
