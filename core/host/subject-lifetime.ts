import type { Config } from '../../config/schema.js'
import { longestLink } from '../interaction/recovery/recovery-links.js'
import { recoverySeconds } from '../interaction/recovery/recovery-sessions.js'
import { grantLifetime } from '../keys/lifecycle/open-ring.js'

/** Seconds until the last session, code, token or recovery link that a person has by now has run out. */
export const subjectLifetime = (config: Config): number =>
  Math.max(config.session_ttl_secs, config.device_code_ttl_secs, grantLifetime(config), longestLink + recoverySeconds) +
  config.clock_tolerance_secs
