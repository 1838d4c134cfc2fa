import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import { createEndSubject, type EndSubject } from '../oauth/subject-end.js'
import { tellClientsIn } from './back-channel.js'
import { collections } from './collections.js'
import { grantLifetime } from '../keys/lifecycle/open-ring.js'
import type { Stores } from './stores.js'

/** Seconds until the last session, code or token that a sign-in has opened by now has run out. */
export const subjectLifetime = (config: Config): number =>
  Math.max(config.session_ttl_secs, config.device_code_ttl_secs, grantLifetime(config)) + config.clock_tolerance_secs

/**
 * What ends all that a person's sign-ins have opened, in these stores and so for every replica, and leaves word for the clients
 * that were granted something.
 */
export const endSubjectIn = (stores: Stores, config: Config, clock: Clock): EndSubject => {
  const { revocations } = collections(stores)
  const tell = tellClientsIn(stores, config, clock)
  const end = createEndSubject({ revocations, clock, lifetimeSeconds: subjectLifetime(config) })
  return async (subject) => {
    await tell(subject)
    await end(subject)
  }
}
