import { isOpaqueToken } from '../opaque-token.js'
import type { Cookies } from './cookies.js'

/**
 * The sessions of one browser, by their cookies. The values have the form of our tokens; nothing else about them has
 * been checked.
 */
export interface BrowserSessions {
  /** The session of the person for whom requests that name no person are made. */
  readonly current: string | undefined
  /** The sessions of other people, the most recently current one first. */
  readonly others: readonly string[]
}

/**
 * The number of people who may be signed in in one browser. One more ends the session of the one who was current
 * longest ago.
 */
export const maxPeople = 5

const listed = /^[\w-]{43}(?:\.[\w-]{43}){0,3}$/

/** Ignores values that are not in the form of our tokens. */
export const readBrowserSessions = (
  cookies: Cookies,
  cookie: (name: string) => string | undefined,
): BrowserSessions => {
  const [current, list] = [cookie(cookies.session), cookie(cookies.otherSessions)]
  const others = list !== undefined && listed.test(list) ? new Set(list.split('.')) : new Set<string>()
  if (!isOpaqueToken(current)) return { current: undefined, others: [...others] }
  others.delete(current)
  return { current, others: [...others] }
}

/** Returns the sessions with this one as the current one. */
export const withCurrent = ({ current, others }: BrowserSessions, chosen: string): BrowserSessions => {
  const all = current === undefined ? others : [current, ...others]
  return { current: chosen, others: all.filter((cookie) => cookie !== chosen) }
}

/** Returns the sessions that remain when these have ended. No other session becomes current because of that. */
export const withoutSessions = ({ current, others }: BrowserSessions, ended: readonly string[]): BrowserSessions => ({
  current: current !== undefined && ended.includes(current) ? undefined : current,
  others: others.filter((cookie) => !ended.includes(cookie)),
})

/** Returns the `Set-Cookie` values that turn `before` into `after`. */
export const setBrowserSessions = (
  cookies: Cookies,
  before: BrowserSessions,
  after: BrowserSessions,
  ttlSeconds: number,
): readonly string[] => {
  const put = (name: string, old: string, value: string): readonly string[] =>
    old === value ? [] : [cookies.set(name, value, value === '' ? 0 : ttlSeconds)]
  return [
    ...put(cookies.session, before.current ?? '', after.current ?? ''),
    ...put(cookies.otherSessions, before.others.join('.'), after.others.join('.')),
  ]
}
