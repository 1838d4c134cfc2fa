import { isOpaqueToken } from '../opaque-token.js'
import type { Cookies } from './cookies.js'

/** The sessions of one browser, by their cookies. What a browser sends has the form of tokens of ours, and nothing more is known of it. */
export interface BrowserSessions {
  /** Of the person whom requests are for that name nobody. */
  readonly current: string | undefined
  /** Of other people, the one who was current last comes first. */
  readonly others: readonly string[]
}

/** People who may be signed in in one browser. One more ends the session of the one who was current longest ago. */
export const mostPeople = 5

const listed = /^[\w-]{43}(?:\.[\w-]{43}){0,3}$/

/** What is not of our making is not there. */
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

/** With this one as the current one. */
export const withCurrent = ({ current, others }: BrowserSessions, chosen: string): BrowserSessions => {
  const all = current === undefined ? others : [current, ...others]
  return { current: chosen, others: all.filter((cookie) => cookie !== chosen) }
}

/** What stays when these have ended. Nobody else becomes current by that. */
export const withoutSessions = ({ current, others }: BrowserSessions, ended: readonly string[]): BrowserSessions => ({
  current: current !== undefined && ended.includes(current) ? undefined : current,
  others: others.filter((cookie) => !ended.includes(cookie)),
})

/** The `Set-Cookie` values that make `before` into `after`. */
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
