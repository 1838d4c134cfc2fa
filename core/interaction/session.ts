import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import { subjectRecordId } from '../oauth/subjects/subject-records.js'
import type { RecordLookup, RecordStore } from '../storage/ports.js'
import type { BrowserNames } from './browser-names.js'
import { maxPeople, setBrowserSessions, type BrowserSessions } from './browser-sessions.js'
import type { Cookies } from './cookies.js'
import type { SignInResult } from './sign-in-method.js'

/** One person signed in in one browser. It is stored under the hash of the cookie. */
export interface Session {
  /** The claim `sid` (OIDC Back-Channel Logout §2.1). It is public, so it is not the cookie. */
  readonly sid: string
  readonly subject: string
  /** Seconds since the epoch. */
  readonly authTime: number
  readonly amr: readonly string[]
  readonly acr?: string
  /** The id of the interaction whose login page was answered. */
  readonly interactionId: string
  /** When it expires, in seconds since the epoch. Absent in a session that an earlier version began. */
  readonly expiresAt?: number
  /** Where the person signed in. Absent in a session that an earlier version began. */
  readonly seen?: BrowserNames
  /** The username as it was typed at the sign-in. Absent in a session that an earlier version began. */
  readonly username?: string
}

/** A session as it is indexed by person. */
export interface SessionEntry extends Pick<Session, 'sid' | 'subject' | 'authTime' | 'amr' | 'seen'> {
  /** The key that the session is stored under. */
  readonly key: string
}

/** The id does not use `sid`, which two concurrent sign-ins in one browser may share. */
export const sessionEntryId = ({ subject, key }: Pick<SessionEntry, 'subject' | 'key'>): string =>
  subjectRecordId(subject, key)

export type PassedSignIn = Extract<SignInResult, { readonly outcome: 'passed' }>

/** A session with the cookie that it was found by. */
export interface FoundSession {
  readonly cookie: string
  readonly session: Session
}

export interface Sessions {
  /** Returns undefined for a cookie that is missing, forged, unknown or expired. Throws `Unavailable`. */
  find(cookie: string | undefined): Promise<Session | undefined>
  /** Returns the sessions that exist, the current one first. Throws `Unavailable`. */
  findAll(browser: BrowserSessions): Promise<readonly FoundSession[]>
  /**
   * Signs a person in under a new cookie, never under one that the browser brings (session fixation), and ends the
   * sessions that the same person has in this browser. Other people who are signed in there stay signed in, up to
   * `mostPeople`; `displaced` are those beyond that, whose sessions the caller must end. Throws `Unavailable`.
   */
  start(
    login: PassedSignIn,
    at: {
      readonly authTime: number
      readonly interactionId: string
      readonly username?: string
      readonly seen?: BrowserNames
    },
    before: BrowserSessions,
  ): Promise<{
    readonly session: Session
    readonly cookies: readonly string[]
    readonly displaced: readonly FoundSession[]
  }>
  /** Throws `Unavailable`. */
  end(ended: FoundSession): Promise<void>
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

  const findAll: Sessions['findAll'] = async ({ current, others }) => {
    const cookies = current === undefined ? others : [current, ...others]
    const found = await Promise.all(cookies.map(async (cookie) => ({ cookie, session: await find(cookie) })))
    return found.flatMap(({ cookie, session }) => (session === undefined ? [] : [{ cookie, session }]))
  }

  const end: Sessions['end'] = async ({ cookie, session: { subject } }) => {
    const key = hashOpaqueToken(cookie)
    // The entry is removed last: a session that could not be removed stays listed, and can be ended later.
    await store.remove(key)
    await index.remove(sessionEntryId({ subject, key }))
  }

  return {
    find,
    findAll,
    end,
    async start(login, { authTime, interactionId, username, seen }, before) {
      const known = await findAll(before)
      const same = known.filter(({ session }) => session.subject === login.subject)
      const others = known.filter(({ session }) => session.subject !== login.subject)
      const session: Session = {
        // A relying party identifies the same person's session by one `sid` (OIDC Back-Channel Logout §2.1).
        sid: same[0]?.session.sid ?? newOpaqueToken(),
        subject: login.subject,
        authTime,
        amr: login.amr,
        ...(login.acr !== undefined && { acr: login.acr }),
        interactionId,
        expiresAt: authTime + ttlSeconds,
        ...(seen && { seen }),
        ...(username !== undefined && { username }),
      }
      const value = newOpaqueToken()
      const { sid, subject, amr } = session
      const entry: SessionEntry = { sid, subject, authTime, amr, key: hashOpaqueToken(value), ...(seen && { seen }) }
      await Promise.all([
        store.put(entry.key, session, { ttlSeconds }),
        index.put(sessionEntryId(entry), entry, { ttlSeconds }),
      ])
      for (const old of same) await end(old)
      const kept = others.slice(0, maxPeople - 1)
      const after = { current: value, others: kept.map(({ cookie }) => cookie) }
      const set = setBrowserSessions(cookies, before, after, ttlSeconds)
      return { session, cookies: set, displaced: others.slice(kept.length) }
    },
  }
}
