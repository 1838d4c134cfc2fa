import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import { createPersonalRecords, type PersonalRecords } from '../interaction/personal-records.js'
import { grantLifetime } from '../keys/lifecycle/open-ring.js'
import type { TellClients } from '../oauth/back-channel/tell-clients.js'
import { createEndSubject, type EndSubject } from '../oauth/subject-end.js'
import { tellClientsIn } from './back-channel.js'
import { collections } from './collections.js'
import type { Stores } from './stores.js'
import { subjectLifetime } from './subject-lifetime.js'

/** What ends all that a person's sign-ins have opened, in these stores and so for every replica; clients hear as of a command. */
export const endSubjectIn = (stores: Stores, config: Config, clock: Clock): EndSubject => {
  const { revocations } = collections(stores)
  const tell = tellClientsIn(stores, config, clock)
  return createEndSubject({ revocations, clock, lifetimeSeconds: subjectLifetime(config), tell })
}

/** What people have in these stores; clients hear of what ends as `tell` says, by default as of a command. */
export const personalRecordsIn = (
  stores: Stores,
  config: Config,
  tell: TellClients = tellClientsIn(stores, config, Date.now),
): PersonalRecords =>
  createPersonalRecords({
    ...{ ...collections(stores), clock: Date.now, grantLifetime: grantLifetime(config), tell },
  })
