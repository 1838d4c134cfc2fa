import { hashOpaqueToken } from '../../opaque-token.js'
import type { AttemptLimiter, AttemptPolicy } from '../../storage/ports.js'

/**
 * Ten requests of one client for one person cost no delay, and then each one doubles it. An approval resets the
 * count.
 */
const perPerson: AttemptPolicy = { free: 10, baseDelaySeconds: 5, maxDelaySeconds: 900, forgetAfterSeconds: 3600 }

/** Limits the hints of one client that match no person. A guessing client is limited to one a minute. */
const perClient: AttemptPolicy = { free: 30, baseDelaySeconds: 1, maxDelaySeconds: 60, forgetAfterSeconds: 3600 }

/**
 * Limits how often a client may ask for people. Every method throws `Unavailable` and returns the seconds to wait, or
 * 0.
 */
export interface BackchannelLimits {
  /** Counted before the person is looked up, so that existing and unknown people get the same answer. */
  takeHint(clientId: string): Promise<number>
  /** The hint matched a person, so it was not a guess. */
  giveBackHint(clientId: string): Promise<void>
  takePerson(clientId: string, subject: string): Promise<number>
  clearPerson(clientId: string, subject: string): Promise<void>
}

export const createBackchannelLimits = (attempts: AttemptLimiter): BackchannelLimits => {
  const pair = (clientId: string, subject: string): string => hashOpaqueToken(`${clientId}\n${subject}`)
  return {
    takeHint: async (clientId) =>
      (await attempts.take('backchannel_hint', hashOpaqueToken(clientId), perClient)).retryAfterSeconds,
    giveBackHint: (clientId) => attempts.giveBack('backchannel_hint', hashOpaqueToken(clientId)),
    takePerson: async (clientId, subject) =>
      (await attempts.take('backchannel_person', pair(clientId, subject), perPerson)).retryAfterSeconds,
    clearPerson: (clientId, subject) => attempts.clear('backchannel_person', pair(clientId, subject)),
  }
}
