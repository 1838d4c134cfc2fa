import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import { createPersonalRecords, type PersonalRecords } from '../interaction/personal-records.js'
import { grantLifetime } from '../keys/lifecycle/open-ring.js'
import type { TellClients } from '../oauth/back-channel/tell-clients.js'
import { createEndSubject, type EndSubject } from '../oauth/subject-end.js'
import { tellClientsIn } from './back-channel.js'
import { collections } from './collections.js'
import type { Stores } from './stores.js'

/** Seconds until the last session, code or token that a sign-in has opened by now has run out. */
export const subjectLifetime = (config: Config): number =>
  Math.max(config.session_ttl_secs, config.device_code_ttl_secs, grantLifetime(config)) + config.clock_tolerance_secs

/**
 * What ends all that a person's sign-ins have opened, in these stores and so for every replica, and leaves word for the clients
 * that were granted something: by default as a command does.
 */
export const endSubjectIn = (
  stores: Stores,
  config: Config,
  clock: Clock,
  tell: TellClients = tellClientsIn(stores, config, clock),
): EndSubject => {
  const { revocations } = collections(stores)
  const end = createEndSubject({ revocations, clock, lifetimeSeconds: subjectLifetime(config) })
  return async (subject) => {
    await tell(subject)
    await end(subject)
  }
}

/** What people have in these stores; clients hear of what ends as `tell` says, by default as of a command. */
export const personalRecordsIn = (
  stores: Stores,
  config: Config,
  tell: TellClients = tellClientsIn(stores, config, Date.now),
): PersonalRecords => createPersonalRecords({ ...collections(stores), grantLifetime: grantLifetime(config), tell })
