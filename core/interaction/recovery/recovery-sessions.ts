import { epochSeconds, type Clock } from '../../clock.js'
import { findAuthTime, signInOf } from '../../oauth/subjects/subject-end.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../../opaque-token.js'
import type { RecordStore, RevocationStore } from '../../storage/ports.js'
import type { Cookies } from '../cookies.js'
import type { RecoveryLink } from './recovery-links.js'

/**
 * A person at `/account` with a recovery link, in one browser. It is not a sign-in: only that page looks for it. It
 * is stored under the hash of its cookie.
 */
export interface RecoverySession {
  readonly subject: string
  /** The id of the link. */
  readonly sid: string
  /** This and the other time are in seconds since the epoch. A later end of the subject also ends the session. */
  readonly authTime: number
  readonly expiresAt: number
  readonly username?: string
}

export interface FoundRecovery {
  readonly cookie: string
  readonly recovery: RecoverySession
}

/** Every member throws `Unavailable`. */
export interface RecoverySessions {
  /**
   * Returns undefined for a cookie that is missing, unknown or expired. Without a cookie it does not read the store.
   */
  find(cookie: string | undefined): Promise<FoundRecovery | undefined>
  /** Opens a session for the person of a link. */
  open(link: RecoveryLink): Promise<FoundRecovery>
  /**
   * Continues the session after the person has ended everything else with a new password. Does nothing when it ended
   * for another reason.
   */
  renew(found: FoundRecovery): Promise<void>
  end(found: FoundRecovery): Promise<void>
  /** Returns the `Set-Cookie` value for the session, or one that removes the cookie when none is given. */
  setCookie(found?: FoundRecovery): string
}

/** In seconds: enough time to set up an authenticator app without haste. */
export const recoverySeconds = 900

interface SessionsOptions {
  readonly store: RecordStore<RecoverySession>
  readonly revocations: Pick<RevocationStore, 'isRevoked' | 'endedBefore'>
  readonly clock: Clock
  readonly cookies: Cookies
}

export const createRecoverySessions = ({ store, revocations, clock, cookies }: SessionsOptions): RecoverySessions => {
  const left = ({ expiresAt }: RecoverySession): number => expiresAt - epochSeconds(clock)

  const end: RecoverySessions['end'] = async ({ cookie }) => {
    await store.remove(hashOpaqueToken(cookie))
  }

  return {
    async find(cookie) {
      const recovery = isOpaqueToken(cookie) ? await store.find(hashOpaqueToken(cookie)) : undefined
      if (cookie === undefined || recovery === undefined || left(recovery) <= 0) return undefined
      const { subject, authTime } = recovery
      return (await revocations.isRevoked([], signInOf(subject, authTime))) ? undefined : { cookie, recovery }
    },
    async open({ subject, id: sid, issuedAt: authTime, username }) {
      const expiresAt = epochSeconds(clock) + recoverySeconds
      const recovery = { subject, sid, authTime, expiresAt, ...(username !== undefined && { username }) }
      const cookie = newOpaqueToken()
      await store.put(hashOpaqueToken(cookie), recovery, { ttlSeconds: recoverySeconds })
      return { cookie, recovery }
    },
    async renew({ cookie, recovery: { subject } }) {
      // This counts as a sign-in that begins after the end, even within the same millisecond.
      const authTime = await findAuthTime(revocations, subject, clock() + 1)
      if (authTime === undefined) return
      await store.update(hashOpaqueToken(cookie), (current, expiresAt) => ({
        result: undefined,
        ...(current && { write: { record: { ...current, authTime }, expiresAt } }),
      }))
    },
    end,
    setCookie: (found) =>
      found === undefined
        ? cookies.set(cookies.recovery, '', 0)
        : cookies.set(cookies.recovery, found.cookie, Math.max(1, left(found.recovery))),
  }
}
