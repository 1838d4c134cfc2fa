import { createHmac } from 'node:crypto'
import type { Clock } from '../clock.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import type { RecordStore } from '../storage/ports.js'
import type { OperatorProof } from './operator.js'

/** An operator who signed in in a browser. It is stored under the hash of the cookie. */
export interface OperatorSession {
  readonly name: string
  /** The roles at the sign-in. The session ends when one of them is taken away. */
  readonly roles: readonly string[]
  readonly proof: OperatorProof
  /** The id of the credential by which it was opened. Absent for a one-time link. */
  readonly credential?: string
  /** For an operator whom only the issuer of `operators.oidc` knows: the values of the claim that names roles. */
  readonly claimed?: readonly string[]
  /** Milliseconds since the epoch, as all times here. */
  readonly openedAt: number
  /** The time of its last use, to the minute. */
  readonly usedAt: number
}

const idleMs = 15 * 60_000
const absoluteMs = 12 * 3_600_000
/** A use is written at most once in this time, so the session lasts at least the rest of the idle time. */
const preciseMs = 30_000

/** Returns the time at which it ends if it is not used any more. */
const endOf = ({ openedAt, usedAt }: OperatorSession): number => Math.min(usedAt + idleMs, openedAt + absoluteMs)

/** The sessions of operators in browsers. Methods throw `Unavailable`. */
export interface OperatorSessions {
  /** Returns the cookie's value, which is always new. */
  open(session: Omit<OperatorSession, 'openedAt' | 'usedAt'>): Promise<string>
  /** Finds a session that has not ended. */
  find(cookie: string | undefined): Promise<OperatorSession | undefined>
  /** Call for each use, once it is certain that the session may be used. */
  touch(cookie: string, session: OperatorSession): Promise<void>
  end(cookie: string): Promise<void>
}

export const createOperatorSessions = (records: RecordStore<OperatorSession>, clock: Clock): OperatorSessions => ({
  async open(opened) {
    const cookie = newOpaqueToken()
    const session = { ...opened, openedAt: clock(), usedAt: clock() }
    await records.put(hashOpaqueToken(cookie), session, { ttlSeconds: idleMs / 1000, onlyIfAbsent: true })
    return cookie
  },
  async find(cookie) {
    if (!isOpaqueToken(cookie)) return undefined
    const session = await records.find(hashOpaqueToken(cookie))
    return session !== undefined && endOf(session) > clock() ? session : undefined
  },
  async touch(cookie, { usedAt }) {
    const now = clock()
    if (now - usedAt < preciseMs) return
    // A session that another request has ended meanwhile stays ended.
    await records.update(hashOpaqueToken(cookie), (current) => {
      if (current === undefined) return { result: undefined }
      const record = { ...current, usedAt: Math.max(current.usedAt, now) }
      return { result: undefined, write: { record, expiresAt: endOf(record) } }
    })
  },
  async end(cookie) {
    if (isOpaqueToken(cookie)) await records.remove(hashOpaqueToken(cookie))
  },
})

/** The value that every form of a session sends. Only the holder of the cookie can have obtained it. */
export const sessionCsrf = (cookie: string): string =>
  createHmac('sha256', cookie).update('operator forms').digest('base64url')

/** The name of the cookie. `__Host-` prevents other hosts of the domain from setting it (RFC 6265bis §4.1.3.2). */
export const sessionCookie = ({ isSecure }: { readonly isSecure: boolean }): string =>
  isSecure ? '__Host-signet-operator' : 'signet-operator'

/** Returns a `Set-Cookie` value; an empty value removes the cookie. */
export const setSessionCookie = (site: { readonly isSecure: boolean }, value: string): string =>
  `${sessionCookie(site)}=${value}; Path=/; HttpOnly; SameSite=Strict${site.isSecure ? '; Secure' : ''}${value === '' ? '; Max-Age=0' : ''}`
