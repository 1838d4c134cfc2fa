import { epochSeconds, type Clock } from '../../clock.js'
import { findAuthTime, signInOf } from '../../oauth/subjects/subject-end.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../../opaque-token.js'
import type { RecordStore, RevocationStore } from '../../storage/ports.js'
import type { Cookies } from '../cookies.js'
import type { RecoveryLink } from './recovery-links.js'

/**
 * Somebody at `/account` with a recovery link, in one browser. It is no sign-in: nothing but that page looks for it. Stored
 * under the hash of its cookie.
 */
export interface RecoverySession {
  readonly subject: string
  /** The id of the link. */
  readonly sid: string
  /** Seconds since the epoch, as the other: an end of the subject after it ends it, too. */
  readonly authTime: number
  readonly expiresAt: number
  readonly username?: string
}

export interface FoundRecovery {
  readonly cookie: string
  readonly recovery: RecoverySession
}

/** Everything throws `Unavailable`. */
export interface RecoverySessions {
  /** Undefined for a cookie that is missing, unknown or over. Without a cookie no store is asked. */
  find(cookie: string | undefined): Promise<FoundRecovery | undefined>
  /** For the person of a link. */
  open(link: RecoveryLink): Promise<FoundRecovery>
  /** Goes on after the person has ended all that there was by a new password. Nothing happens when it has ended otherwise. */
  renew(found: FoundRecovery): Promise<void>
  end(found: FoundRecovery): Promise<void>
  /** The `Set-Cookie` value for it; without one, that takes the cookie away. */
  setCookie(found?: FoundRecovery): string
}

/** Seconds: as long as it takes to set up an authenticator app in peace. */
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
      // As a sign-in that begins after the end, and be it in the same millisecond.
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
