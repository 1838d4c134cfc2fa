import type { JsonObject } from '../json.js'

/** The operator's log. Messages are constant texts; variable parts go into `fields`, which are redacted by name. */
export interface Log {
  debug(message: string, fields?: JsonObject): void
  info(message: string, fields?: JsonObject): void
  warn(message: string, fields?: JsonObject): void
  error(message: string, fields?: JsonObject, cause?: unknown): void
}

/** For commands, which report errors themselves. */
export const noLog: Log = Object.freeze({ debug() {}, info() {}, warn() {}, error() {} })
