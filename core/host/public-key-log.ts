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
import { metricsOf } from '../observe/metrics.js'
import { observeKeyLog } from './instruments/service-metrics.js'
import { tokens, type Resolve } from './injection-tokens.js'
import type { HostProcess } from './process.js'

/** These are served only with `key_log`. */
export const keyLogEndpoints = { checkpoint: keyLogCheckpointEndpoint, ...keyLogTileEndpoints }

export const createKeyLogEndpoints = (get: Resolve): HandlersOf<typeof keyLogEndpoints> => {
  const log = createServedLog(get(tokens.collections).keyLog)
  const tile = createKeyLogTileEndpoint(log)
  return { checkpoint: createKeyLogCheckpointEndpoint(log), tile, partialTile: tile, partialFarTile: tile }
}

/** Opens the follower that keeps the log in step with the keys. It returns undefined without a log. */
export const followKeys = (
  { config }: CheckedConfiguration,
  resolve: Resolve,
  { clock, metrics }: Pick<HostProcess, 'clock' | 'metrics'>,
  known: Pick<KeyLogFollowerOptions, 'publications' | 'slots'>,
): KeyLogFollower | undefined => {
  const log = () => resolve(tokens.keyLog)
  const follower = config.key_log ? createKeyLogFollower({ ...known, clock, log }) : undefined
  observeKeyLog(metricsOf(config.issuer, metrics), follower)
  return follower
}
