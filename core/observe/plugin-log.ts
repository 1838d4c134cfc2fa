import { AsyncLocalStorage } from 'node:async_hooks'
import type { JsonObject } from '../json.js'
import type { Log } from './log.js'

/** The id of the request that the running code serves. */
export type RequestIds = AsyncLocalStorage<string>

export const newRequestIds = (): RequestIds => new AsyncLocalStorage()

/** The log of one plugin. Each line names the plugin and, while it serves a request, the request. */
export const createPluginLog = (log: Log, plugin: string, requestIds?: RequestIds): Log => {
  const own = (fields: JsonObject = {}): JsonObject => {
    const request_id = requestIds?.getStore()
    return { ...fields, plugin, ...(request_id !== undefined && { request_id }) }
  }
  return {
    debug: (message, fields) => log.debug(message, own(fields)),
    info: (message, fields) => log.info(message, own(fields)),
    warn: (message, fields) => log.warn(message, own(fields)),
    error: (message, fields, cause) => log.error(message, own(fields), cause),
  }
}
