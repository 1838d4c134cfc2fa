import type { Clock } from '../clock.js'
import type { Readiness } from '../observe/health.js'
import type { Log } from '../observe/log.js'
import type { StorageSchema } from '../storage/ports.js'
import { Unavailable } from '../unavailable.js'
import { schemasOf } from './store-schemas.js'
import type { Stores } from './stores.js'

const roles = ['records', 'ephemeral'] as const

/** The time in milliseconds for which a good result counts (F12). */
const healthyMs = 60_000

/** Checks every time while something is missing, so that what `signet migrate` has made is seen at once. */
const checkNowAndThen = ({ check }: StorageSchema, clock: Clock): (() => Promise<void>) => {
  let healthyUntil = -Infinity
  return async () => {
    const left = healthyUntil - clock()
    // A clock that was set back must not make a result last longer.
    if (left > 0 && left <= healthyMs) return
    await check()
    healthyUntil = clock() + healthyMs
  }
}

/** Registers readiness checks of whether each store answers, and whether it has what its collections need. */
export const watchStoreHealth = (readiness: Readiness, stores: Stores, clock: Clock): void => {
  for (const role of roles) {
    const check = (signal: AbortSignal) => stores[role].ping(signal)
    readiness.register({ name: `storage.${role}`, intervalMs: 1000, deadlineMs: 1000, check })
  }
  for (const [name, schema] of schemasOf(stores)) {
    const check = checkNowAndThen(schema, clock)
    readiness.register({ name: `${name}.indexes`, intervalMs: 1000, deadlineMs: 6000, check })
  }
}

/** Finds settings that are allowed but probably not intended, with the store they concern. Throws `Unavailable`. */
export const findStoreWarnings = async (stores: Stores): Promise<ReadonlyMap<string, string>> => {
  const found = new Map<string, string>()
  for (const role of roles)
    // A backend that has both roles gives its warning once.
    for (const message of (await stores[role].warnings?.()) ?? [])
      if (!found.has(message)) found.set(message, `storage.${role}`)
  return found
}

/** Logs the warnings for the operator. A store that does not answer is reported by readiness. */
export const logStoreWarnings = async (stores: Stores, log: Log): Promise<void> => {
  try {
    for (const [message, store] of await findStoreWarnings(stores)) log.warn(store, { message })
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
  }
}
