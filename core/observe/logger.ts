import { pino, type DestinationStream } from 'pino'
import type { JsonObject } from '../json.js'
import type { Log } from './log.js'
import { redact, redactText } from './redact.js'
import { standardOutput } from './standard-output.js'
import { createTerminalLog } from './terminal-log.js'

export interface LoggerOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  /** Human-readable lines for a terminal; otherwise one JSON object per line. */
  readonly pretty: boolean
}

export interface Logger extends Log {
  /**
   * Resolves when all lines are written or cannot be. Lines still buffered when the process ends are written without
   * it.
   */
  flush(): Promise<void>
}

let at = NaN
let time = ''

/** Like pino's own `isoTime`, but computed once per millisecond. */
const timestamp = (): string => {
  const now = Date.now()
  if (now !== at) time = `,"time":"${new Date((at = now)).toISOString()}"`
  return time
}

/** Writes to standard output. Values of fields named like a secret are left out at any depth. */
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
  const output = standardOutput()
  process.once('exit', output.flushSync)
  return { stream: { write: output.enqueue }, flush: output.flush }
}

/** Terminals and pipes get each line at once. */
const prettyOutput = (): { stream: DestinationStream; flush: () => Promise<void> } => ({
  stream: createTerminalLog((text) => process.stdout.write(text)),
  flush: () => Promise.resolve(),
})

/** Reads known members by name only, because libraries attach whole requests and configurations to their errors. */
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
