import { epochSeconds, type Clock } from '../../clock.js'
import type { Session } from '../../interaction/session.js'

/** Seconds: long enough for several changes in one visit, and shorter than a browser is left unattended. */
export const recentSeconds = 600

/** Whether this person signed in recently, which is checked before changes that weaken an account. */
export const isRecent = ({ authTime }: Pick<Session, 'authTime'>, clock: Clock): boolean =>
  epochSeconds(clock) - authTime < recentSeconds
