import { epochSeconds, type Clock } from '../../clock.js'
import type { Session } from '../../interaction/session.js'

/** Seconds: as long as somebody changes things in one visit, and less than a browser is left alone for. */
export const recentSeconds = 600

/** Did this person prove who they are a moment ago? Asked before what makes an account weaker. */
export const isRecent = ({ authTime }: Pick<Session, 'authTime'>, clock: Clock): boolean =>
  epochSeconds(clock) - authTime < recentSeconds
