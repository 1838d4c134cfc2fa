import { hashOpaqueToken } from '../../opaque-token.js'
import type { AttemptLimiter, AttemptPolicy } from '../../storage/ports.js'

/** One client and one person: ten requests cost no waiting, and then each one doubles it. An approval forgets them. */
const perPerson: AttemptPolicy = { free: 10, baseDelaySeconds: 5, maxDelaySeconds: 900, forgetAfterSeconds: 3600 }

/** Hints of one client that name nobody: a client that guesses is down to one a minute. */
const perClient: AttemptPolicy = { free: 30, baseDelaySeconds: 1, maxDelaySeconds: 60, forgetAfterSeconds: 3600 }

/** How often a client may ask for people. Every member throws `Unavailable`; seconds to wait, 0: go on. */
export interface BackchannelLimits {
  /** Before the person is looked up, so that somebody who exists and somebody who does not are told alike. */
  takeHint(clientId: string): Promise<number>
  /** The hint named somebody: it was no guess. */
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
