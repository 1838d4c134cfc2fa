import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import { subjectRecordId } from '../oauth/subject-records.js'
import type { RecordLookup, RecordStore } from '../storage/ports.js'
import type { BrowserNames } from './browser-names.js'
import type { Cookies } from './cookies.js'
import type { LoginResult } from './login-provider.js'

/** One person signed in, in one browser. Stored under the hash of the cookie. */
export interface Session {
  /** The claim `sid` (OIDC Back-Channel Logout §2.1): public, so not the cookie. */
  readonly sid: string
  readonly subject: string
  /** Seconds since the epoch. */
  readonly authTime: number
  readonly amr: readonly string[]
  readonly acr?: string
  /** Id of the interaction whose login page was answered. */
  readonly interactionId: string
  /** When it is over: seconds since the epoch. Absent in one that an earlier version began. */
  readonly expiresAt?: number
  /** Where the person signed in. Absent in one that an earlier version began. */
  readonly seen?: BrowserNames
}

/** A session as it can be found by its person. */
export interface SessionEntry extends Pick<Session, 'sid' | 'subject' | 'authTime' | 'amr' | 'seen'> {
  /** What the session is stored under. */
  readonly key: string
}

/** Not by `sid`, which two sign-ins at once in one browser may share. */
export const sessionEntryId = ({ subject, key }: Pick<SessionEntry, 'subject' | 'key'>): string =>
  subjectRecordId(subject, key)

export type PassedLogin = Extract<LoginResult, { readonly outcome: 'passed' }>

export interface Sessions {
  /** Undefined for a cookie that is missing, tampered with, unknown or expired. Throws `Unavailable`. */
  find(cookie: string | undefined): Promise<Session | undefined>
  /**
   * Signs a person in under a new cookie and ends the session of the old one, no matter whose it was (session fixation).
   * Throws `Unavailable`.
   */
  start(
    login: PassedLogin,
    at: { readonly authTime: number; readonly interactionId: string; readonly seen?: BrowserNames },
    oldCookie: string | undefined,
  ): Promise<{ readonly session: Session; readonly cookie: string }>
  /** Ends the session of a cookie. Throws `Unavailable`. */
  end(cookie: string | undefined, session: Session): Promise<void>
}

export interface SessionOptions {
  readonly store: RecordLookup<Session>
  readonly index: RecordStore<SessionEntry>
  readonly cookies: Cookies
  readonly ttlSeconds: number
}

export const createSessions = ({ store, index, cookies, ttlSeconds }: SessionOptions): Sessions => {
  const find = async (cookie: string | undefined): Promise<Session | undefined> =>
    isOpaqueToken(cookie) ? store.find(hashOpaqueToken(cookie)) : undefined

  const end = async (cookie: string | undefined, { subject }: Session): Promise<void> => {
    if (!isOpaqueToken(cookie)) return
    const key = hashOpaqueToken(cookie)
    await Promise.all([store.remove(key), index.remove(sessionEntryId({ subject, key }))])
  }

  return {
    find,
    end,
    async start(login, { authTime, interactionId, seen }, oldCookie) {
      const old = await find(oldCookie)
      const session: Session = {
        // A relying party knows the same person's session by one `sid` (OIDC Back-Channel Logout §2.1).
        sid: old?.subject === login.subject ? old.sid : newOpaqueToken(),
        subject: login.subject,
        authTime,
        amr: login.amr,
        ...(login.acr !== undefined && { acr: login.acr }),
        interactionId,
        expiresAt: authTime + ttlSeconds,
        ...(seen && { seen }),
      }
      const value = newOpaqueToken()
      const { sid, subject, amr } = session
      const entry: SessionEntry = { sid, subject, authTime, amr, key: hashOpaqueToken(value), ...(seen && { seen }) }
      await Promise.all([
        store.put(entry.key, session, { ttlSeconds }),
        index.put(sessionEntryId(entry), entry, { ttlSeconds }),
      ])
      if (old) await end(oldCookie, old)
      return { session, cookie: cookies.set(cookies.session, value, ttlSeconds) }
    },
  }
}
