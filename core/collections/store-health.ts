import type { Clock } from '../clock.js'
import type { Readiness } from '../observe/health.js'
import type { Log } from '../observe/log.js'
import type { StorageSchema } from '../storage/ports.js'
import { Unavailable } from '../unavailable.js'
import { schemasOf } from './store-schemas.js'
import type { Stores } from './stores.js'

const roles = ['records', 'ephemeral'] as const

/** Milliseconds for which what was found in order counts as such (F12). */
const soundMs = 60_000

/** Asks every time while something is missing, so that what `signet migrate` has made is seen at once. */
const checkNowAndThen = ({ check }: StorageSchema, clock: Clock): (() => Promise<void>) => {
  let soundUntil = -Infinity
  return async () => {
    const left = soundUntil - clock()
    // A clock that was set back makes nothing last longer.
    if (left > 0 && left <= soundMs) return
    await check()
    soundUntil = clock() + soundMs
  }
}

/** Readiness follows whether each store answers, and whether it has what its collections need. */
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

/** What is allowed and probably not meant, with the store it is said of. Throws `Unavailable`. */
export const findStoreWarnings = async (stores: Stores): Promise<ReadonlyMap<string, string>> => {
  const found = new Map<string, string>()
  for (const role of roles)
    // Where both roles are one backend it is said once.
    for (const message of (await stores[role].warnings?.()) ?? [])
      if (!found.has(message)) found.set(message, `storage.${role}`)
  return found
}

/** Tells the operator. What does not answer has readiness to tell of it. */
export const logStoreWarnings = async (stores: Stores, log: Log): Promise<void> => {
  try {
    for (const [message, store] of await findStoreWarnings(stores)) log.warn(store, { message })
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
  }
}
