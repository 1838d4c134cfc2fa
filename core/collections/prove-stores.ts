import type { Config } from '../../config/schema.js'
import { ConfigurationError } from '../../config/problems.js'
import type { Clock } from '../clock.js'
import { withDeadline } from '../deadline.js'
import { proveEphemeral, proveRecords } from '../storage/prove-atomic.js'
import { Unavailable } from '../unavailable.js'
import { schemasOf } from './store-schemas.js'
import { isEmbedded, openStores, type Stores } from './stores.js'

/** The time in milliseconds for all races of one store. */
const proofMs = 10_000

type Role = keyof Config['storage']

/** Returns the roles whose store is another program, which must prove that it is atomic: all but the embedded one. */
export const rolesToProve = ({ storage }: Pick<Config, 'storage'>): readonly Role[] =>
  (['records', 'ephemeral'] as const).filter((role) => !isEmbedded(storage[role]))

/**
 * Opens the store of the role a second time, so that callers race over separate connections, and resolves with what
 * is wrong with it. Throws what `openStores` throws, and `Unavailable`.
 */
export const proveStore = async (
  role: Role,
  config: Pick<Config, 'storage'>,
  stores: Stores,
  clock: Clock,
): Promise<string | undefined> => {
  await using others = await openStores(config, clock)
  const prove = (): Promise<string | undefined> =>
    role === 'records'
      ? proveRecords([stores.records, others.records], clock)
      : proveEphemeral([stores.ephemeral, others.ephemeral], clock)
  const late = () => new Unavailable(`storage.${role}`, 'unknown', 'the races that prove it atomic did not end in time')
  return await withDeadline(proofMs, prove, late)
}

/**
 * Checks before a service serves that each store behind a network is atomic and has the indexes of its collections.
 * Throws `Unavailable` for records that may still appear by themselves or by `signet migrate`, and
 * `ConfigurationError` for a store that lets two callers win.
 */
export const proveStores = async (config: Pick<Config, 'storage'>, stores: Stores, clock: Clock): Promise<void> => {
  for (const role of rolesToProve(config)) {
    const message = await proveStore(role, config, stores, clock).catch((error: unknown) => {
      // A store that is down, or not trusted yet, refuses only what needs it, and the rest is served.
      if (role === 'ephemeral' && error instanceof Unavailable) return undefined
      throw error
    })
    if (message !== undefined) throw new ConfigurationError([{ path: `storage.${role}`, message }])
  }
  for (const schema of schemasOf(stores).values()) await schema.check()
}
