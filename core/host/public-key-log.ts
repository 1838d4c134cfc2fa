import type { CheckedConfiguration } from '../checks/check-configuration.js'
import type { HandlersOf } from '../endpoints/endpoint.js'
import {
  createKeyLogCheckpointEndpoint,
  createKeyLogTileEndpoint,
  keyLogCheckpointEndpoint,
  keyLogTileEndpoints,
} from '../endpoints/key-log.js'
import { createKeyLogFollower, type KeyLogFollower, type KeyLogFollowerOptions } from '../keys/log/follow-keys.js'
import { createServedLog } from '../keys/log/served-log.js'
import { tokens, type Resolve } from './injection-tokens.js'

/** These are served only with `key_log`. */
export const keyLogEndpoints = { checkpoint: keyLogCheckpointEndpoint, ...keyLogTileEndpoints }

export const createKeyLogEndpoints = (get: Resolve): HandlersOf<typeof keyLogEndpoints> => {
  const log = createServedLog(get(tokens.collections).keyLog)
  const tile = createKeyLogTileEndpoint(log)
  return { checkpoint: createKeyLogCheckpointEndpoint(log), tile, partialTile: tile, partialFarTile: tile }
}

/** What keeps the log in step with the keys, where there is a log. */
export const followKeys = (
  { config }: CheckedConfiguration,
  resolve: Resolve,
  known: Omit<KeyLogFollowerOptions, 'log'>,
): KeyLogFollower | undefined =>
  config.key_log ? createKeyLogFollower({ ...known, log: () => resolve(tokens.keyLog) }) : undefined
