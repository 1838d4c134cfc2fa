import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import { createPersonalRecords, type PersonalRecords } from '../interaction/personal-records.js'
import { longestLink } from '../interaction/recovery/recovery-links.js'
import { recoverySeconds } from '../interaction/recovery/recovery-sessions.js'
import { grantLifetime } from '../keys/lifecycle/open-ring.js'
import { createOutbox } from '../oauth/back-channel/outbox.js'
import { createNotifyClients, type NotifyClients } from '../oauth/back-channel/notify-clients.js'
import { createEndSubject, type EndSubject } from '../oauth/subjects/subject-end.js'
import { collections, type Collections } from './collections.js'
import type { Stores } from './stores.js'

/** Returns the seconds until the last session, code, token or recovery link that a person has now has expired. */
export const subjectLifetime = (config: Config): number =>
  Math.max(config.session_ttl_secs, config.device_code_ttl_secs, grantLifetime(config), longestLink + recoverySeconds) +
  config.clock_tolerance_secs

/** Finds the `backchannel_logout_uri` of a client in these stores or this configuration. */
export const findLogoutUriIn = (
  stores: Stores,
  config: Config,
): ((clientId: string) => Promise<string | undefined>) => {
  const { clients } = collections(stores)
  const configured = new Map(config.clients.map((client) => [client['client_id'], client['backchannel_logout_uri']]))
  return async (clientId) => {
    const uri = configured.has(clientId)
      ? configured.get(clientId)
      : (await clients.find(clientId))?.backchannel_logout_uri
    return typeof uri === 'string' ? uri : undefined
  }
}

/** Leaves logout tokens in the outbox, where the next process that serves finds and delivers them. */
export const notifyClientsIn = (stores: Stores, config: Config, clock: Clock): NotifyClients => {
  const { sessionClients, logoutDeliveries: records, logoutClaims: claims } = collections(stores)
  const outbox = createOutbox({ kind: 'logout_token', records, claims, clock })
  return createNotifyClients({ sessionClients, outbox, findLogoutUri: findLogoutUriIn(stores, config) })
}

/** Works as `endSubjectOf` for a command, which has only stores. */
export const endSubjectIn = (stores: Stores, config: Config, clock: Clock): EndSubject =>
  endSubjectOf(collections(stores), config, clock, notifyClientsIn(stores, config, clock))

/** Handles the sessions, grants and consents of people. `notifyClients` notifies the clients of what ends. */
export const personalRecordsOf = (
  kept: Collections,
  config: Config,
  clock: Clock,
  notifyClients: NotifyClients,
): PersonalRecords => createPersonalRecords({ ...kept, clock, grantLifetime: grantLifetime(config), notifyClients })

/** Ends everything that a person's sign-ins have opened, at every replica. */
export const endSubjectOf = (
  { revocations }: Pick<Collections, 'revocations'>,
  config: Config,
  clock: Clock,
  notifyClients: NotifyClients,
): EndSubject => createEndSubject({ revocations, clock, lifetimeSeconds: subjectLifetime(config), notifyClients })

/** Works as `personalRecordsOf` for a command, which has only stores. */
export const personalRecordsIn = (
  stores: Stores,
  config: Config,
  clock: Clock,
  notifyClients: NotifyClients = notifyClientsIn(stores, config, clock),
): PersonalRecords => personalRecordsOf(collections(stores), config, clock, notifyClients)
